"""Signals as statements, in each database's own quoting."""

import json
import sqlite3

import pytest

from ingest.errors import UsageError
from ingest.operations.signal import Connector, Signal
from ingest.operations.statement import statement

HARD = {"type": "incremental", "additional-condition": "name = 'O''Zoë' AND path = 'a\\b' AND x = \"y\" & 1"}


def signal(dialect: str) -> Signal:
    """Make a signal whose data is hard to quote."""
    return Signal("id1", "stop-snapshot", Connector(dialect, "s"), HARD)


@pytest.mark.parametrize(
    ("dialect", "table", "name"),
    [
        ("sqlserver", "testDB.dbo.signals", "[testDB].[dbo].[signals]"),
        ("sqlserver", 'dbo."my.]signals"', "[dbo].[my.]]signals]"),
        ("postgres", "public.Signals", '"public"."Signals"'),
        ("postgres", 'public."a""b"', '"public"."a""b"'),
        ("mysql", "my-shop.signals", "`my-shop`.`signals`"),
        ("oracle", "ORCLPDB1.C##DBZ.SIGNALS", "C##DBZ.SIGNALS"),
        ("oracle", 'dbz."my signals"', 'dbz."my signals"'),
    ],
)
def test_the_signal_table_is_quoted_as_its_database_wants(dialect: str, table: str, name: str) -> None:
    """Oracle's PDB is left out, and its ordinary names stay in whatever case they are."""
    assert statement(signal(dialect), table).startswith(
        f"INSERT INTO {name} (id, type, data) VALUES ('id1', "
    )


def test_standard_sql_reads_the_data_back_unchanged() -> None:
    """A database that is not ours reads the statement: SQLite, whose literals are the standard's."""
    database = sqlite3.connect(":memory:")
    try:
        database.execute("CREATE TABLE signals (id TEXT, type TEXT, data TEXT)")
        database.execute(statement(signal("postgres"), "signals"))
        ((name, kind, data),) = database.execute("SELECT * FROM signals").fetchall()
    finally:
        database.close()

    assert (name, kind, json.loads(data)) == ("id1", "stop-snapshot", HARD)


@pytest.mark.parametrize("dialect", ["sqlserver", "postgres", "mysql", "oracle"])
def test_the_values_are_ascii(dialect: str) -> None:
    """No client's encoding can spoil them."""
    assert statement(signal(dialect), "signals").isascii()


def test_mysql_gets_its_backslashes_twice() -> None:
    """Its literals have escapes, those of the others have none."""
    plain, escaped = statement(signal("postgres"), "s"), statement(signal("mysql"), "s")

    assert plain.count("\\") * 2 == escaped.count("\\") > 0


def test_oracles_clients_find_no_variable() -> None:
    """SQL*Plus would ask for its value; the JSON is the same without the sign."""
    text = statement(signal("oracle"), "s")

    assert "&" not in text
    written = text.partition("'stop-snapshot', '")[2].removesuffix("');").replace("''", "'")
    assert json.loads(written) == HARD


def test_mongodb_gets_three_fields_in_the_connectors_order() -> None:
    """The connector reads a signal's fields by place, and wants exactly these."""
    text = statement(signal("mongodb"), "shop.my.signals")

    start = 'db.getSiblingDB("shop").getCollection("my.signals").insertOne('
    assert text.startswith(start)
    document = json.loads(text.removeprefix(start).removesuffix(");"))
    assert list(document.items()) == [("_id", "id1"), ("type", "stop-snapshot"), ("data", HARD)]


@pytest.mark.parametrize(
    ("dialect", "table"),
    [
        ("postgres", ""),
        ("postgres", "a..b"),
        ("postgres", 'a."b'),
        ("postgres", "a.b.c"),
        ("mysql", "a.b.c"),
        ("sqlserver", "a.b.c.d"),
        ("mongodb", "signals"),
    ],
)
def test_an_invalid_name_of_a_signal_table_is_refused(dialect: str, table: str) -> None:
    """The message names the flag and its value."""
    with pytest.raises(UsageError, match="--signal-table"):
        statement(signal(dialect), table)
