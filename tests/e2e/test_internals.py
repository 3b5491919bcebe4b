"""`[spark] internals = false`: the same rows without what docs/internals.md calls optional."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame

from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
ROWS = 1500
LARGE = 1 << 20
"""Bytes of a file that a merge reads in batches."""
COMPARED = ("outcome", "offsets", "read", "applied", "superseded", "ignored", "rejected", "schema_ids")


def run_plainly(deployment: Deployment, lake: Path) -> dict[str, Any]:
    """Run the table in a process of its own, without internals, into another lake; return its report."""
    report = deployment.root / "plain.json"
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "run", "--report", str(report)],
        cwd=deployment.root, capture_output=True, text=True, check=False,
        env={**os.environ, "INGEST_SPARK_INTERNALS": "false", "INGEST_LAKE_PATH": str(lake)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    (table,) = json.loads(report.read_text())["tables"]
    return {name: table[name] for name in COMPARED}


def own_rows(frame: DataFrame) -> DataFrame:
    """Return a table's columns without Hudi's own."""
    return frame.select(*(name for name in frame.columns if not name.startswith("_hoodie_")))


def text(seed: int) -> str:
    """Return a text that takes 2 KB in a file."""
    return random.Random(seed).randbytes(2000).hex()  # noqa: S311  data, no secret


def test_a_run_without_internals_gives_the_same_rows(make_deployment: Callable[[], Deployment]) -> None:
    """Load, update, delete and idle; each phase in a process with a JVM."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.testDB.dbo.plain"
    (topic,) = make_topics(deployment.servers, {name: COLUMNS}, partitions=2).values()
    deployment.onboard()
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(LIGHT_JVM)
    lake = deployment.root / "plain-lake"
    phases = [
        [Change("c", {"id": n, "v": text(n)}, at=n) for n in range(ROWS)],
        [Change("u", {"id": n, "v": text(ROWS + n)}, at=ROWS + n) for n in range(ROWS // 2)],
        [Change("d", {"id": n, "v": None}, at=2 * ROWS + n) for n in range(0, ROWS, 3)],
        [],
    ]
    outcomes = []
    for phase in phases:
        topic.send(*phase)
        (tuned,) = deployment.run().tables
        assert tuned.error is None
        plain = run_plainly(deployment, lake)
        assert plain == {key: tuned.to_json()[key] for key in COMPARED}
        outcomes.append(plain["outcome"])

    assert outcomes == ["committed", "committed", "committed", "idle"]
    assert min(file.stat().st_size for file in (lake / "plain").glob("*.parquet")) > LARGE
    both = [own_rows(deployment.frame("plain"))]
    both.append(own_rows(deployment.spark.read.format("hudi").load(str(lake / "plain"))))
    assert both[0].count() == both[1].count() == ROWS * 2 // 3
    assert both[0].exceptAll(both[1]).isEmpty()
