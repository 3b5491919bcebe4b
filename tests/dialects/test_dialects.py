"""Connectors as values: found by what their events say, and whole."""

from typing import get_args

import attrs
import pytest

from ingest.compile.typetable import POLICIES, TYPES, TYPES_BY_TICK
from ingest.dialects import DIALECTS, Dialect, dialect_of
from ingest.dialects.sqlserver import SQLSERVER
from ingest.tables.table import DialectName

EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=list(DIALECTS))


def test_a_connector_is_found_by_its_source_record() -> None:
    """Not by the topic's name, which people choose."""
    assert dialect_of("io.debezium.connector.sqlserver.Source") is SQLSERVER
    assert dialect_of("io.debezium.connector.mysql.Source") is None
    assert dialect_of("Source") is None


def test_table_files_know_the_same_names() -> None:
    """A dialect without a name there could not be chosen, a name without a dialect not be run."""
    assert set(DIALECTS) == set(get_args(DialectName))
    assert all(name == dialect.name for name, dialect in DIALECTS.items())


def test_source_records_are_told_apart() -> None:
    """Each belongs to one connector."""
    records = [dialect.source_record for dialect in DIALECTS.values()]
    assert len(set(records)) == len(records)


@EVERY
def test_a_dialect_is_a_value(dialect: Dialect) -> None:
    """Frozen and hashable, so that it can travel in a compiled table."""
    assert hash(dialect) == hash(attrs.evolve(dialect))
    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        dialect.name = "other"  # type: ignore[misc]  that is the point


@EVERY
def test_every_term_reads_its_field(dialect: Dialect) -> None:
    """As a value that is never null, as text, and with a fault for what has no place in the order."""
    assert dialect.terms
    for term in dialect.terms:
        assert all("{c}" in sql for sql in (term.sort, term.text, term.fault))
        assert "coalesce(" in term.sort


@EVERY
def test_a_topics_name_is_read_in_one_way(dialect: Dialect) -> None:
    """The number of its parts decides what they are, and a table is always among them."""
    lengths = [len(parts) for parts in dialect.topic_parts]
    assert len(set(lengths)) == len(lengths)
    assert all(parts[-1] == "table" for parts in dialect.topic_parts)


@EVERY
def test_guards_speak_of_types_that_there_are(dialect: Dialect) -> None:
    """A warning about a name that no column can have would never be seen."""
    known = {semantic for semantic, _, _ in TYPES}
    assert {semantic for guard in dialect.guards for semantic in guard.semantics} <= known
    assert all(guard.text for guard in dialect.guards)
    assert dialect.documentation.startswith("https://")


@EVERY
def test_a_tick_has_rows_of_its_own(dialect: Dialect) -> None:
    """For each policy of the type that they replace."""
    if dialect.tick_ns is None:
        return
    rows = TYPES_BY_TICK[dialect.tick_ns]
    semantics = {semantic for semantic, _, _ in rows}
    replaced = {key for key in TYPES if key[0] in semantics}
    assert set(rows) == replaced
    assert semantics <= set(POLICIES)
