"""Processes killed, moments frozen, payloads spoilt: `make torture`, or `python torture/run.py NAME…`.

Prints the figures that docs/reliability.md quotes; returns 1 where anything was lost, doubled or falsified.
"""

import argparse
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from ingest.artifacts import spark_jars
from ingest.local.servers import down, up
from ingest.run.spark import start_session
from torture.freezes import Freezer, freeze_all
from torture.fuzz import fuzz
from torture.kills import torture
from torture.scene import make_deployment, make_scene

CONF: Final = {"spark.driver.memory": "2g"}
TOPIC: Final = "torture.db.dbo.changes"
CHANGES: Final = 1500
SLICE: Final = 250


def kills(count: int, seed: int, folder: Path) -> list[str]:
    """Kill worker processes."""
    found = torture(folder, count, seed)
    print(
        f"killed {found.kills} times with kill -9, at {len(found.moments)} kinds of moments; looked "
        f"at tables {found.checks} times: rows, offsets or rejects lost, doubled or wrong: {len(found.wrong)}"
    )
    _show("last in the lake when killed", found.moments)
    _show("failed runs", found.errors)
    return found.wrong


def freezes(count: int, seed: int, folder: Path) -> list[str]:
    """Copy the lake at moments of a run."""
    servers = up(folder / "servers")
    try:
        scene = make_scene(servers, TOPIC, CHANGES, seed)
        make_deployment(folder / "base", servers, scene.topic)
        spark = start_session("freezes", "local[2]", CONF, spark_jars())
        dice = random.Random(seed)  # noqa: S311  moments, no secret
        # Every kind of moment as often, and enough of each run that late ones get their share.
        freezer = Freezer(spark, scene, folder, dice, quota=5, most=count)
        slices = -(-scene.count // SLICE)
        found = freeze_all(freezer, folder / "base", SLICE, a_run=-(-count // slices))
        spark.stop()
    finally:
        down(folder / "servers")
    print(
        f"went on from {found.frozen} moments of {len(found.moments)} kinds, {found.in_recovery} of them in "
        f"a recovery; looked at tables {found.checks} times: rows, offsets or rejects lost, doubled or "
        f"wrong: {len(found.wrong)}"
    )
    _show("moments", found.moments)
    return found.wrong


def payloads(count: int, seed: int, folder: Path) -> list[str]:
    """Spoil payloads."""
    del folder
    spark = start_session("payloads", "local[2]", CONF, spark_jars())
    found = fuzz(spark, count, seed)
    spark.stop()
    print(
        f"spoilt {found.payloads:,} payloads of {found.topics} topics: {found.taken:,} taken as the "
        f"independent decoder reads them, {found.ignored:,} ignored, {found.rejected:,} rejected with a "
        f"reason ({found.stricter:,} as unreadable that the other reads), {len(found.wrong)} wrong"
    )
    _show("mutations", found.mutations)
    _show("reasons", found.reasons)
    return found.wrong


HARNESSES: Final[Mapping[str, tuple[Callable[[int, int, Path], list[str]], int]]] = {
    "payloads": (payloads, 24_000),
    "freezes": (freezes, 200),
    "kills": (kills, 100),
}


def main() -> int:
    """Run the harnesses that are named, all by default."""
    os.environ["TZ"] = "UTC"
    time.tzset()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(HARNESSES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, help="kills, moments or payloads")
    asked = parser.parse_args()
    wrong: list[str] = []
    for name in asked.names or HARNESSES:
        work, count = HARNESSES[name]
        started = time.monotonic()
        with tempfile.TemporaryDirectory(prefix=f"torture-{name}-") as folder:
            wrong += work(asked.count or count, asked.seed, Path(folder))
        print(f"{name}: seed {asked.seed}, {time.monotonic() - started:.0f} s", flush=True)
    for one in wrong[:50]:
        print(f"WRONG {one}")
    return 1 if wrong else 0


def _show(title: str, counts: Counter[str]) -> None:
    if counts:
        print(f"  {title}: {', '.join(f'{name} {count}' for name, count in sorted(counts.items()))}")


if __name__ == "__main__":
    sys.exit(main())
