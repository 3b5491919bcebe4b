"""The readers that onboarding names are those that were measured."""

import json
import re
from pathlib import Path
from typing import Literal

import attrs
import pytest

from ingest.sql.types import parse_ddl
from ingest.tables import Reader, Target
from ingest.typemap.readers import (
    BY_FILES,
    IN_PARTITIONS,
    OTHER_ROWS,
    PROGRAMS,
    excluded_readers,
    format_for,
    reader_caveats,
    rebuild_caveat,
)
from tests.places.record import TITLES

PLACES = Path(__file__).parents[2] / "docs" / "places"
TESTS = Path(__file__).parents[1] / "places"
NAMES: dict[Reader, str] = {
    "spark": "Spark", "spark-1.1": "Hudi 1.1.1", "spark-1.0": "Hudi 1.0.2",
    "spark-0.15": "Hudi 0.15.0", "hudi-rs": "hudi-rs", "trino": "Trino", "hive": "Hive",
    "duckdb": "DuckDB", "polars": "Polars", "daft": "Daft", "clickhouse": "ClickHouse",
}  # fmt: skip
STALE: tuple[Reader, ...] = (*BY_FILES, "trino", "clickhouse")
"""Readers that show a merge-on-read table at its last compaction."""
READERS: dict[str, Reader] = {name: reader for reader, name in NAMES.items()}
UNNAMED: dict[int, tuple[Reader, ...]] = {
    9: ("spark-0.15", "spark-1.0", "daft"),
    8: ("spark-0.15", "daft"),
    6: (),
}
"""Readers that open no table of a version, which only the page says unless a table names them."""


def measured(version: int) -> list[dict[str, str]]:
    """Return the results of tables of a version."""
    files = [PLACES / f"{name}_{version}.json" for name in ("readers", "trino")]
    return [cell for file in files for cell in json.loads(file.read_text("utf-8"))["cells"]]


def readers_of(version: int, table: str, state: str, result: str) -> set[str]:
    """Return the readers with a result for a state of a table."""
    cells = json.loads((PLACES / f"states_{version}.json").read_text("utf-8"))["cells"]
    wanted = (table, state, result)
    return {cell["reader"] for cell in cells if (cell["table"], cell["state"], cell["result"]) == wanted}


def program(cell: dict[str, str]) -> str:
    """Return a reader's name without the kind of its query."""
    return re.sub(" (snapshot|time travel|incremental|CDC)$", "", cell["reader"])


def test_each_module_that_runs_in_other_places_has_a_section_of_their_page() -> None:
    """Without one, RECORD=1 ends in an error after all tests."""
    assert set(TITLES) == {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")}


@pytest.mark.parametrize("table", ["cow", "mor", "compacted"])
@pytest.mark.parametrize("version", [9, 8, 6])
def test_a_reader_is_named_where_it_was_seen_to_fail(table: str, version: Literal[6, 8, 9]) -> None:
    """And where it shows other rows, in each type of table and column; never where it reads all of them."""
    target = Target(type="cow" if table == "cow" else "mor", table_version=version)
    for cell in (cell for cell in measured(version) if cell["table"] == table):
        reader = READERS[program(cell)]
        if reader in UNNAMED[version] or cell["reader"] == "Spark CDC":
            continue
        is_named = reader in excluded_readers([("v", parse_ddl(cell["type"]))], target)
        shows_others = cell["result"] == "differs" and reader in OTHER_ROWS
        by_chance = table == "compacted" and reader in STALE and cell["result"] == "equal"
        assert is_named == (cell["result"] != "equal") or shows_others or by_chance, cell


@pytest.mark.parametrize("reader", NAMES)
def test_a_reader_reads_the_format_that_it_asks_for(reader: Reader) -> None:
    """Each type of column of a copy-on-write table is equal, but for wall clocks if it gives them up.

    A later version, or wall clocks, would stop it.  Trino opens version 9 under conditions only.
    """
    needed = format_for([reader])

    def failing(version: int) -> set[str]:
        cells = (cell for cell in measured(version) if program(cell) == NAMES[reader])
        return {cell["type"] for cell in cells if cell["table"] == "cow" and cell["result"] != "equal"}

    others = failing(9) & failing(8) & failing(6) - {"timestamp_ntz"} if reader in OTHER_ROWS else set()
    assert failing(needed.table_version) - others == (
        {"timestamp_ntz"} if needed.timestamps == "utc" else set()
    )
    assert needed.table_version == 9 or len(failing(9)) > 1 or reader == "trino"


@pytest.mark.parametrize("version", [9, 8, 6])
def test_a_reader_is_named_where_it_shows_other_rows(version: Literal[6, 8, 9]) -> None:
    """Of merge-on-read tables, and after a rebuild."""
    stale = readers_of(version, "mor", "rows deleted softly", "differs")
    named = excluded_readers([("v", parse_ddl("int"))], Target(type="mor", table_version=version))
    assert stale == {NAMES[reader] for reader in named} - {"Daft"}
    twice = readers_of(version, "cow", "rebuilt with other buckets and type", "differs")
    caveat = rebuild_caveat(Target(table_version=version))
    assert twice == set(re.findall("Daft|ClickHouse", caveat))
    assert rebuild_caveat(Target(table_version=version, readers=("spark", "hive"))) == ""


def test_a_table_that_names_its_readers_is_told_all_that_they_do_not_show() -> None:
    """A reader with another state in any table that it opens has a text; a table hears of its own readers."""
    states = [
        cell for version in (9, 8, 6)
        for cell in json.loads((PLACES / f"states_{version}.json").read_text("utf-8"))["cells"]
    ]  # fmt: skip
    for texts, is_parted in ((OTHER_ROWS, False), (IN_PARTITIONS, True)):
        others = {
            cell["reader"] for cell in states
            if cell["table"] == "cow" and cell["result"] == "differs"
            and cell["state"].startswith("partitioned") == is_parted
        }  # fmt: skip
        assert others == {NAMES[reader] for reader in texts}
    columns = [("id", parse_ddl("int")), ("at", parse_ddl("timestamp_ntz"))]
    readers = Target(readers=("spark", "hive", "daft"))
    zoneless, version = reader_caveats(columns, readers)
    assert zoneless.startswith("not for Hive 2.3.9: it stops at columns of type timestamp_ntz")
    assert version == "not for Daft: it needs [target] table_version = 6"
    assert reader_caveats(columns[:1], attrs.evolve(readers, table_version=6)) == [
        f"Hive 2.3.9 {OTHER_ROWS['hive']}",
        f"Daft {OTHER_ROWS['daft']}",
    ]
    trino = Target(readers=("spark", "trino"), table_version=6)
    assert reader_caveats(columns, trino) == []
    (caveat,) = reader_caveats(columns, attrs.evolve(trino, partition_by=("p",)))
    assert caveat == f"Trino 476 {IN_PARTITIONS['trino']}"
    later = reader_caveats(columns, Target(readers=("any",)))
    assert "not for Spark with Hudi 1.0.2: it needs [target] table_version = 8" in later
    every = reader_caveats(columns[:1], Target(readers=("any",), table_version=6))
    assert every == [f"{PROGRAMS[reader]} {text}" for reader, text in OTHER_ROWS.items()]


def test_a_name_with_other_letters_excludes_the_readers_that_stop_at_it() -> None:
    """Those that hudi-rs reads for, too; Daft opens no table of version 9."""
    named = excluded_readers([("Größe", parse_ddl("string"))], Target())
    stopped = {"hudi-rs", *BY_FILES}
    assert {NAMES[reader] for reader in stopped} <= readers_of(9, "cow", "names of other scripts", "fails")
    assert set(named) == stopped


def test_a_nested_wall_clock_excludes_as_one_of_its_own() -> None:
    """The whole schema is converted before anything is read."""
    for ddl in ("array<timestamp_ntz>", "map<string,timestamp_ntz>", "struct<a:array<timestamp_ntz>>"):
        assert set(excluded_readers([("id", parse_ddl("int")), ("v", parse_ddl(ddl))], Target())) == {
            "hudi-rs",
            "hive",
            *BY_FILES,
        }
    columns = [("a", parse_ddl("struct<a:timestamp>")), ("b", parse_ddl("decimal(9,2)"))]
    assert excluded_readers(columns, Target()) == {}
