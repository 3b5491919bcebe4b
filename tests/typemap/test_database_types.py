"""The types of databases: each leads to a row of the type table, and the pages have them."""

from pathlib import Path

import pytest

from ingest.dialects import DIALECTS
from ingest.tables import Types
from ingest.typemap.database_types import DATABASE_TYPES, DatabaseType
from ingest.typemap.page import type_lines, type_page
from ingest.typemap.rows import POLICIES

ROOT = Path(__file__).parents[2]
ENTRIES = [(connector, item) for connector, types in DATABASE_TYPES.items() for item in types]
MODES = ("Iso", "Structured", "geometry.")
"""Parts of names that only other modes of a connector, or extensions of a database, send."""
NO_TYPES = {"oracle": ("Date", "Time", "MicroTime"), "mysql": ("Time",)}
"""Names that are accepted of every connector, but have no type in these databases."""


@pytest.mark.parametrize(
    ("connector", "item"), [pytest.param(*entry, id=f"{entry[0]}: {entry[1].names}") for entry in ENTRIES]
)
def test_a_database_type_has_a_row_under_its_connector(connector: str, item: DatabaseType) -> None:
    """The first of several is the row of the default policy, as the page says."""
    lines = [
        line
        for line in type_lines(DIALECTS[connector])
        if (line.semantic, line.physical) == (item.semantic, item.physical)
    ]
    assert bool(lines) == bool(item.physical)
    if len(lines) > 1:
        assert lines[0].policy == getattr(Types(), POLICIES[item.semantic])


@pytest.mark.parametrize("connector", ["sqlserver", "oracle", "mongodb", "postgres", "mysql"])
def test_every_name_that_a_connector_sends_by_default_has_a_database_type(connector: str) -> None:
    """Nothing of the type table is out of reach of somebody who knows only the database."""
    listed = {item.semantic for item in DATABASE_TYPES[connector]}
    sent = {line.semantic for line in type_lines(DIALECTS[connector])}
    missing = {name for name in sent - listed if name.startswith("io.debezium.")}
    modal = {name for name in missing if any(mode in name for mode in MODES)}
    assert missing - modal == {f"io.debezium.time.{name}" for name in NO_TYPES.get(connector, ())}


@pytest.mark.parametrize(
    ("connector", "words"),
    [("oracle", "| NUMBER, FLOAT, REAL"), ("sqlserver", "datetime2(7) | Nano"), ("postgres", "jsonb")],
)
def test_the_page_has_the_names_that_people_look_for(connector: str, words: str) -> None:
    """In the generated page and in the committed one, which `make golden` writes."""
    page = type_page(DIALECTS[connector])
    assert words in page
    assert (ROOT / "docs" / "types" / f"{connector}.md").read_text(encoding="utf-8") == page
