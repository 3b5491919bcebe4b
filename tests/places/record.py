"""Results of these tests in docs/places/, from which the pages are generated.

Measured cells are compared with the committed ones; with the variable RECORD they replace them.
"""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).parents[2] / "docs" / "places"
IS_RECORDING: Final = bool(os.environ.get("RECORD"))


TITLES: Final = {
    "s3": "S3: Adobe's S3Mock 4.12.4, Hadoop's S3A 3.3.4",
    "s3_faults": "S3 behind a proxy that tears, refuses and delays requests",
    "s3_lock": "Locks in S3",
    "s3_listing": "Requests to S3",
    "hdfs": "HDFS: Hadoop's MiniDFSCluster 3.3.4",
    "yarn": "YARN: Hadoop's MiniYARNCluster 3.3.4, Spark 3.5.7",
    "kubernetes": "Kubernetes: files only, by kubernetes-validate 1.37.0",
    "brokers": "Kafka brokers: 3.9.1, and 4.1.1 with many partitions",
    "tiered": "Kafka 4.1.1 with tiered storage: Kafka's LocalTieredStorage",
    "msk": "IAM of Amazon MSK: a broker of Kafka 4.1.1 that validates AWS's signatures",
    "registry": "A registry by its address: Karapace 6.2.0, from its sources",
    "readers": "Readers",
    "reader_states": "Readers: states of a table",
    "read_page": "Readers: the blocks of the page Read the tables",
    "iceberg": "Readers: the same files as Iceberg tables",
    "trino": "Trino 476, with a metastore of files, and that of Hive 2.3.9",
}
"""The sections of the page, by module."""


def committed(name: str) -> dict[str, Any]:
    """Return the committed results of one name; empty if there are none."""
    path = FOLDER / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(name: str, cells: Sequence[Mapping[str, str]], versions: Mapping[str, str]) -> list[Any]:
    """Return the cells that differ from the committed ones; with RECORD, commit these in their place."""
    before = {json.dumps(cell, sort_keys=True) for cell in committed(name).get("cells", [])}
    now = {json.dumps(cell, sort_keys=True): cell for cell in cells}
    if IS_RECORDING:
        write(name, {"date": today(), "versions": dict(sorted(versions.items())), "cells": list(cells)})
        return []
    return [f"new: {cell}" for cell in now if cell not in before] + [
        f"gone: {cell}" for cell in sorted(before - now.keys())
    ]


def write(name: str, content: Mapping[str, Any]) -> None:
    """Write results, one per line."""
    lists = {key: value for key, value in content.items() if isinstance(value, list)}
    head = {key: value for key, value in content.items() if key not in lists}
    parts = [f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}" for key, value in head.items()]
    for key, values in lists.items():
        lines = ",\n  ".join(json.dumps(value, ensure_ascii=False) for value in values)
        parts.append(f"{json.dumps(key)}: [\n  {lines}\n ]")
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{name}.json").write_text("{\n " + ",\n ".join(parts) + "\n}\n", encoding="utf-8")


def today() -> str:
    """Return the date, in UTC."""
    return datetime.now(UTC).date().isoformat()


def record_requests(layout: str, counted: Mapping[str, Mapping[str, Mapping[str, int]]]) -> None:
    """With RECORD, write the requests that were counted for one layout; those of other layouts stay."""
    if not IS_RECORDING:
        return
    kept = [cell for cell in committed("requests").get("cells", []) if cell["layout"] != layout]
    cells = [
        {"layout": layout, "metadata": metadata, "work": work, "requests": dict(sorted(requests.items()))}
        for metadata, works in counted.items()
        for work, requests in works.items()
    ]
    write("requests", {"date": today(), "cells": [*kept, *cells]})
