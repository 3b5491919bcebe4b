"""Connectors as values: detected from their events, and complete."""

import re
from typing import get_args

import attrs
import pytest

from ingest.dialects import DIALECTS, RECORD, Dialect, dialect_of, dialect_of_flat
from ingest.tables.table import DialectName
from ingest.typemap.rows import POLICIES, TYPES, TYPES_BY_TICK

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


@pytest.mark.parametrize(
    ("source_record", "name"),
    [
        ("io.debezium.connector.sqlserver.Source", "sqlserver"),
        ("io.debezium.connector.oracle.Source", "oracle"),
        ("io.debezium.connector.mongo.Source", "mongodb"),
        ("io.debezium.connector.postgresql.Source", "postgres"),
        ("io.debezium.connector.mysql.Source", "mysql"),
        ("io.debezium.connector.mariadb.Source", "mysql"),
        ("io.debezium.connector.db2.Source", None),
        ("Source", None),
        ("", None),
    ],
)
def test_a_connector_is_found_by_its_source_record(source_record: str, name: str | None) -> None:
    """Not by the topic's name, which people choose."""
    result = dialect_of(source_record)
    assert (result and result.name) == name


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"op", "commit_lsn", "sequence"}, "sqlserver"),
        ({"scn"}, "oracle"),
        ({"commit_scn", "ts_ms"}, "oracle"),
        ({"lsn"}, "postgres"),
        ({"sequence"}, "postgres"),
        ({"file", "pos", "row"}, "mysql"),
        ({"op", "ts_ms", "table"}, None),
        (set(), None),
    ],
)
def test_a_flattened_rows_connector_is_found_by_its_position(fields: set[str], name: str | None) -> None:
    """By a field that only its position has: all connectors have the time, some have `sequence`."""
    result = dialect_of_flat(fields)
    assert (result and result.name) == name


def test_table_files_know_the_same_names() -> None:
    """A dialect without a name there could not be chosen, a name without a dialect not be run."""
    assert set(DIALECTS) == set(get_args(DialectName))
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


def test_source_records_are_distinguished() -> None:
    """Each belongs to one connector."""
    records = [record for dialect in DIALECTS.values() for record in dialect.source_records]
    assert len(set(records)) == len(records)


def test_flattened_rows_are_distinguished() -> None:
    """No field of a position tells two connectors."""
    signs = [sign for dialect in DIALECTS.values() for sign in dialect.flattened_fields]
    assert len(set(signs)) == len(signs)


@EVERY
def test_a_dialect_is_a_value(dialect: Dialect) -> None:
    """Frozen and hashable, so that it can travel in a compiled table."""
    assert hash(dialect) == hash(attrs.evolve(dialect))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        dialect.name = "other"  # type: ignore[misc]  # that is the point


@EVERY
def test_a_position_is_made_of_source_fields_that_are_read(dialect: Dialect) -> None:
    """As a value that is never null, and as text of it; nothing is read in vain."""
    sqls = [sql for term in dialect.terms for sql in (term.sort, term.fault)]
    used = {name for sql in (*sqls, dialect.rank) for name in re.findall(r"\{s\.(\w+)\}", sql)}
    assert used == set(dialect.source)
    for term in dialect.terms:
        assert "coalesce(" in term.sort
        assert "{c}" in term.text


@EVERY
def test_a_sign_of_a_flattened_row_is_part_of_the_position(dialect: Dialect) -> None:
    """A row without any part of it would have no place in the order."""
    assert set(dialect.flattened_fields) <= set(dialect.source)


@EVERY
def test_operations_other_than_changes_are_not_changes(dialect: Dialect) -> None:
    """One letter cannot be both."""
    assert not {"c", "u", "d", "r"}.intersection(dialect.other_ops)


@EVERY
def test_a_topics_name_is_read_in_one_way(dialect: Dialect) -> None:
    """The number of parts decides their meaning; one is always the table."""
    lengths = [len(parts) for parts in dialect.topic_parts]
    assert len(set(lengths)) == len(lengths)
    assert all(parts[-1] == "table" for parts in dialect.topic_parts)


@EVERY
def test_guards_speak_of_types_that_there_are(dialect: Dialect) -> None:
    """A warning about a name that no column can have would never be seen."""
    existing = {semantic or physical for semantic, physical, _ in TYPES}
    assert {name for guard in dialect.caveats for name in guard.types} <= existing
    assert all(guard.text for guard in dialect.caveats)
    assert dialect is RECORD or dialect.documentation.startswith("https://")


@EVERY
def test_a_tick_has_rows_of_its_own(dialect: Dialect) -> None:
    """For each policy of the type that they replace."""
    if dialect.time_resolution_ns is None:
        return
    rows = TYPES_BY_TICK[dialect.time_resolution_ns]
    semantics = {semantic for semantic, _, _ in rows}
    replaced = {key for key in TYPES if key[0] in semantics}
    assert set(rows) == replaced
    assert semantics <= set(POLICIES)
