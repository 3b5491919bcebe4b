"""The readers that onboarding names are those that were measured."""

import json
from pathlib import Path

import pytest

from ingest.sql.types import parse_ddl
from ingest.typemap.readers import BY_FILES, excluded_readers

MEASURED = json.loads((Path(__file__).parents[2] / "docs" / "places" / "readers_9.json").read_text("utf-8"))
CELLS = [cell for cell in MEASURED["cells"] if cell["reader"].startswith(("hudi-rs", *BY_FILES))]


@pytest.mark.parametrize("table", ["cow", "mor", "compacted"])
def test_a_reader_is_named_where_it_was_seen_to_fail(table: str) -> None:
    """And where it shows other rows, in each type of table and column; never where it reads all of them."""
    table_type = "cow" if table == "cow" else "mor"
    for cell in (cell for cell in CELLS if cell["table"] == table):
        named = excluded_readers([parse_ddl(cell["type"])], table_type)
        is_named = any(reader.startswith(cell["reader"].split()[0]) for reader in named)
        by_chance = table == "compacted" and cell["reader"] in BY_FILES and cell["result"] == "equal"
        assert is_named == (cell["result"] != "equal") or by_chance, cell


def test_a_nested_wall_clock_excludes_as_one_of_its_own() -> None:
    """The whole schema is converted before anything is read."""
    for ddl in ("array<timestamp_ntz>", "map<string,timestamp_ntz>", "struct<a:array<timestamp_ntz>>"):
        assert set(excluded_readers([parse_ddl("int"), parse_ddl(ddl)], "cow")) == {
            "hudi-rs 0.5.0",
            *BY_FILES,
        }
    assert excluded_readers([parse_ddl("struct<a:timestamp>"), parse_ddl("decimal(9,2)")], "cow") == {}
