"""Who reads the tables after evolution, deletes, upkeep and rebuilds, in partitions, and with odd values."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from pyspark.sql import SparkSession

from ingest.testing.comparison import read_rows
from ingest.typemap.readers import OLDEST
from tests.hudi.conftest import VERSION, Lake
from tests.places.cells import in_order, rows_of
from tests.places.matrix import BUNDLES, BY_FOLDER, by_hive, by_spark, copied, our_bundle, read_by
from tests.places.record import record
from tests.places.s3 import S3
from tests.places.states import STATES, write
from tests.places.trino import Trino, answer

pytestmark = [pytest.mark.places, pytest.mark.spark]

ZONE: Final = "America/New_York"
EXPECTED: Final = {state.name: in_order(state.expected()) for state in STATES}
BARE: Final = "without settings"
BY_CHANCE: Final = {
    "Daft": (
        ("columns added", "int widened", "decimal(9,2) widened", "history", "with null"),
        "fails",
        "in some orders of its files",
    ),
    "ClickHouse": (("columns added", "widened"), "differs", "the columns and types of one of its files"),
}
"""The worst result of a reader that takes columns from one file, as a folder happens to list them: of a state
with a part of these names, in copy-on-write tables that it opens.
"""


@pytest.fixture
def jobs(spark: SparkSession, s3: S3, tmp_path: Path) -> list[dict[str, Any]]:
    """Write each state, locally and in S3."""
    lake = Lake(spark, tmp_path / "lake")
    return copied(lake, s3, [write(lake, state, table) for state in STATES for table in state.tables])


def test_each_reader_shows_the_states_that_the_page_says(
    spark: SparkSession, jobs: list[dict[str, Any]], metastore: str, trino: Trino
) -> None:
    """The product's session shows the known rows; each other reader, in New York's zone, as recorded.

    Hive's JVM is in UTC: it shows instants as the wall clocks of its zone.
    """
    for job in jobs:
        found = read_rows(spark.read.format("hudi").load(job["path"]), job["columns"])
        assert rows_of(found, job["columns"]) == EXPECTED[job["state"]], (job["state"], job["table"])
    versions, cells = dict[str, str](), list[dict[str, str]]()
    programs = [*BY_FOLDER, *map(by_spark, BUNDLES), by_spark(our_bundle(), BARE), by_hive(metastore)]
    for program in programs:
        read = read_by(program, json.dumps(jobs), ZONE)
        versions |= read["versions"]
        cells += judged(read["answers"])
    cells += judged([answer(trino, job) for job in jobs])  # Hive has registered the tables
    cells.sort(key=lambda cell: (cell["reader"], cell["table"], cell["state"]))
    assert record(f"states_{VERSION}", cells, versions | {"Trino": "476"}) == []


def judged(answers: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, str]]:
    """Compare each answer with the known rows."""
    for found in answers:
        reader, table, state = found["reader"].removesuffix(" snapshot"), found["table"], found["state"]
        result, detail = compared(found, EXPECTED[state])
        if result == "differs" and table == "mor":
            detail = ""  # the rows of the last compaction, in files that are filled by chance
        elif chance := by_chance(reader, table, state):
            result, detail = chance
        yield {"reader": reader, "table": table, "state": state, "result": result, "detail": detail}


def by_chance(reader: str, table: str, state: str) -> tuple[str, str] | None:
    """Return the worst result of a reader that depends on the order of a folder's files."""
    parts, result, detail = BY_CHANCE.get(reader, ((), "", ""))
    is_open = table != "mor" if reader == "ClickHouse" else (VERSION, table) == (OLDEST, "cow")
    return (result, detail) if is_open and any(part in state for part in parts) else None


def compared(answer: Mapping[str, Any], wanted: Sequence[Any]) -> tuple[str, str]:
    """Return the result of a reader and, if it is not equal, what was found."""
    if "problem" in answer:
        return "fails", re.sub(r"\S*/\S*", "…", answer["problem"].splitlines()[0])
    if answer["rows"] == wanted:
        return "equal", ""
    return "differs", difference(answer["rows"], wanted)


def difference(found: Sequence[Any], wanted: Sequence[Any]) -> str:
    """Describe the rows that differ, by the first of each kind."""
    extra = [row for row in found if row not in wanted]
    missing = [row for row in wanted if row not in found]
    if not extra and not missing:
        return f"{len(found)} rows in place of {len(wanted)}"
    return f"{len(found)} rows in place of {len(wanted)}; found {shown(extra)} in place of {shown(missing)}"


def shown(rows: Sequence[Any]) -> str:
    """Return the first row as text."""
    return json.dumps(rows[0], ensure_ascii=False)[:80] if rows else "nothing"
