"""Spark's master, by its name."""

import os
import re


def is_local(master: str) -> bool:
    """Whether the driver is the only executor.  `local-cluster[2,1,1024]` has others, as a cluster has."""
    return re.match(r"local(\[|$)", master) is not None


def threads(master: str) -> int:
    """Count the threads of `local`, `local[4]`, `local[4,2]` or `local[*]`.  Spark refuses other words."""
    inside = master.removeprefix("local").strip("[]").split(",")[0] or "1"
    return int(inside) if inside.isdecimal() else os.cpu_count() or 1
