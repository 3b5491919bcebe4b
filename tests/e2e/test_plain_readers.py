"""Readers with a Spark session of their own: the bundle and Hudi's documented settings, in another zone.

Our session reads dates before 1582 and timestamps before 1900 whatever a file says of its calendar; a default
session looks into the file's footer.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from ingest.jars.artifacts import spark_jars
from ingest.testing import date, nullable, timestamp, zoned_timestamp
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {
    "id": "int",
    "day": nullable(date()),
    "clock": nullable(timestamp()),
    "instant": nullable(zoned_timestamp()),
    "note": nullable("string"),
}
DAYS: Final = {1: -719_162, 2: -79_257, 3: -25_567, 4: 20_000}
"""0001-01-01, 1753-01-01, 1900-01-01 and a day of today."""
SECONDS: Final = {number: day * 86_400 + 3_723 for number, day in DAYS.items()}
INSTANTS: Final = {
    1: "0001-01-01T01:02:03Z",
    2: "1753-01-01T01:02:03Z",
    3: "1900-01-01T01:02:03Z",
    4: "2024-10-04T01:02:03Z",
}
READER: Final = """
import json, sys
from decimal import Decimal
from pyspark.sql import SparkSession

bundle, *paths = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.jars", bundle)
    .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    .config("spark.ui.enabled", "false")
    .getOrCreate()
)
ancient = ["id", "cast(day as string)", "cast(clock as string)", "unix_micros(instant)", "note"]
for path in paths:
    try:
        table = spark.read.format("hudi").load(path)
        if "clock" in table.columns:
            rows = table.orderBy("id", "_cdc_position").selectExpr(*ancient).collect()
        else:
            rows = table.selectExpr("count(*)", "sum(cast(xxhash64(*) as decimal(38,0)))").collect()
        result = [[str(v) if isinstance(v, Decimal) else v for v in row] for row in rows]
    except Exception as error:
        result = [str(error)[:500]]
    print("RESULT", json.dumps({path: result}))
"""


TARGETS: Final = {
    "cow": {},
    "mor": {"type": '"mor"'},
    "compacted": {"type": '"mor"'},
    "rebuilt": {},
    "history": {"mode": '"history"'},
    "append": {"mode": '"append"'},
}
"""The lines of each table's `[target]`."""


def set_target(deployment: Deployment, name: str, lines: Mapping[str, str]) -> None:
    """Edit a table file as a user would."""
    path = deployment.tables / f"{name}.toml"
    text = path.read_text()
    for key, value in lines.items():
        text = re.sub(rf"(?m)^{key} = .*$", f"{key} = {value}", text)
    path.write_text(text)


def row(number: int, note: str) -> dict[str, Any]:
    """Make a row of one of the days."""
    return {
        "id": number,
        "day": DAYS[number],
        "clock": SECONDS[number] * 1_000_000,
        "instant": INSTANTS[number],
        "note": note,
    }


def shown(number: int, note: str) -> list[Any]:
    """Return the row as a reader shows it."""
    day, clock = INSTANTS[number][:-1].split("T")
    return [number, day, f"{day} {clock}", SECONDS[number] * 1_000_000, note]


def read_plainly(script: str, *paths: Path) -> dict[str, Any]:
    """Read tables in a process with a default session in New York."""
    bundle = next(jar for jar in spark_jars() if jar.name.startswith("hudi-"))
    zone = {"TZ": "America/New_York"}
    done = subprocess.run(
        [sys.executable, "-c", script, str(bundle), *map(str, paths)],
        capture_output=True, text=True, check=True, env={**os.environ, **zone},
    )  # fmt: skip
    lines = [line.removeprefix("RESULT ") for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    return {path: rows for line in lines for path, rows in json.loads(line).items()}


def test_ancient_dates_are_read_in_a_default_session(make_deployment: Callable[[], Deployment]) -> None:
    """After a first load, an upsert, a compaction and a rebuild, of both types; some files of each kind."""
    deployment = make_deployment()
    topics = make_topics(
        deployment.servers, {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in TARGETS}
    )
    deployment.onboard([topic.name for topic in topics.values()])
    for (name, lines), topic in zip(TARGETS.items(), topics.values(), strict=True):
        set_target(deployment, name, lines)
        topic.send(*(Change("c", row(number, "old"), at=number) for number in (1, 2, 3)))
    assert all(outcome.error is None for outcome in deployment.run().tables)
    for topic in topics.values():
        topic.send(Change("u", row(2, "new"), at=11), Change("c", row(4, "new"), at=12))
    assert all(outcome.error is None for outcome in deployment.run().tables)
    session = deployment.session
    (compacted,) = session.maintain(["compacted"]).tables
    assert compacted.error is None
    set_target(deployment, "rebuilt", {"buckets": "4"})
    assert session.rebuild("rebuilt").error is None

    assert {check.table: check.old_footers for check in session.verify_files()} == dict.fromkeys(TARGETS, 0)
    paths = {name: deployment.root / "lake" / name for name in TARGETS}
    found = read_plainly(READER, *paths.values())

    rows = [shown(1, "old"), shown(2, "new"), shown(3, "old"), shown(4, "new")]
    versions = [*rows[:1], shown(2, "old"), *rows[1:]]
    assert found == {
        str(path): versions if name in ("append", "history") else rows for name, path in paths.items()
    }


def test_recorded_tables_are_the_same_in_a_default_session(make_deployment: Callable[[], Deployment]) -> None:
    """Every type of SQL Server with its extremes, after upserts: all rows have equal hashes."""
    deployment = make_deployment()
    deployment.load()
    names = ("all_types", "orders", "customers")
    deployment.onboard([f"{deployment.prefix}.testDB.dbo.{name}" for name in names])
    assert all(report.outcome == "done" for report in deployment.run_until_idle(max_offsets=60))

    paths = {name: deployment.root / "lake" / name for name in names}
    found = read_plainly(READER, *paths.values())

    for name, path in paths.items():
        own = deployment.frame(name).selectExpr("count(*)", "sum(cast(xxhash64(*) as decimal(38,0)))")
        ((count, total),) = own.collect()
        assert found[str(path)] == [[count, str(total)]], name
