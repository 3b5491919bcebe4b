"""Signals as values: whom they are for, how tables are named in them, and what they ask."""

import json
import re
from typing import cast

import pytest

from ingest.errors import UsageError
from ingest.names import Subject, Topic
from ingest.operations.signal import Connector, SignalRequest, SnapshotType, collection, make_signal
from ingest.tables import DialectName, Subjects, TableConfig

EXECUTE = SignalRequest(kind="execute-snapshot")


def table(name: str, topic: str, dialect: str = "sqlserver") -> TableConfig:
    """Make a table as a table file would."""
    subjects = Subjects(value=Subject(f"{topic}-value"))
    return TableConfig(name=name, topic=Topic(topic), dialect=cast("DialectName", dialect), subjects=subjects)


ORDERS = table("orders", "server1.testDB.dbo.orders")
ITEMS = table("items", "server1.testDB.dbo.items")
OTHER = table("other", "pg.public.other", "postgres")


def ask(*tables: str, **more: object) -> SignalRequest:
    """Ask for a snapshot of tables."""
    return SignalRequest(kind="execute-snapshot", tables=tables, **more)  # type: ignore[arg-type]  # the tests' own


@pytest.mark.parametrize(
    ("dialect", "topic", "asked", "name"),
    [
        ("sqlserver", "server1.testDB.dbo.orders", EXECUTE, "testDB.dbo.orders"),
        ("sqlserver", "server1.dbo.orders", ask(database="testDB"), "testDB.dbo.orders"),
        ("oracle", "o.INVENTORY.ORDERS", ask(database="ORCLPDB1"), "ORCLPDB1.INVENTORY.ORDERS"),
        ("postgres", "pg.public.orders", EXECUTE, "public.orders"),
        ("mysql", "m.shop.orders", EXECUTE, "shop.orders"),
        ("mongodb", "mg.shop.orders", EXECUTE, "shop.orders"),
        ("mongodb", "mg.shop.orders.old", ask(prefix="mg"), "shop.orders.old"),
        ("postgres", "eu.pg.public.orders", ask(prefix="eu.pg"), "public.orders"),
    ],
)
def test_a_topic_tells_debeziums_name_of_its_table(
    dialect: str, topic: str, asked: SignalRequest, name: str
) -> None:
    """The names are those of the documentation's list, connector by connector."""
    assert collection(dialect, Topic(topic), asked) == name


@pytest.mark.parametrize(
    "name", ["testDB.dbo.orders", "ORCLPDB1.INVENTORY.ORDER_ITEMS", "public.my-table", "shop.orders"]
)
def test_a_name_from_a_topic_matches_no_other_name_as_regular_expression(name: str) -> None:
    """Debezium matches identifiers of as many parts: an unescaped dot can mean a dot only."""
    assert re.fullmatch(name, name)
    for i, character in enumerate(name):
        assert not re.fullmatch(name, f"{name[:i]}#{name[i + 1 :]}") or character == "."


@pytest.mark.parametrize(
    ("dialect", "topic", "asked", "words"),
    [
        ("sqlserver", "server1.dbo.orders", EXECUTE, "Give it with --database"),
        ("oracle", "o.INVENTORY.ORDERS", EXECUTE, "Give it with --database"),
        (
            "postgres",
            "pg.public.orders",
            ask(database="d"),
            "--database d: topic pg.public.orders already contains the database",
        ),
        ("postgres", "eu.pg.public.orders", EXECUTE, "Give it with --prefix"),
        ("mongodb", "mg.shop.orders.old", EXECUTE, "Give it with --prefix"),
        ("postgres", "pg.public.orders", ask(prefix="p"), "does not begin with"),
        ("postgres", "pg.public.my.orders", ask(prefix="pg"), "Give Debezium's name with --collection"),
    ],
)
def test_parts_that_a_topic_does_not_name_are_asked_for(
    dialect: str, topic: str, asked: SignalRequest, words: str
) -> None:
    """Debezium would skip a wrong name with a warning in its log only."""
    with pytest.raises(UsageError, match=re.escape(words)):
        collection(dialect, Topic(topic), asked)


def test_a_snapshot_names_its_tables_in_the_order_asked() -> None:
    """Also where the table files come in another order."""
    built = make_signal([ITEMS, ORDERS], ask("orders", "items"), "id1")

    assert built.connector == Connector("sqlserver", "server1")
    assert built.data == {
        "data-collections": ["testDB.dbo.orders", "testDB.dbo.items"],
        "type": "incremental",
    }


def test_a_condition_holds_for_every_table_and_every_version() -> None:
    """Debezium before 2.4 reads one condition for all tables, under the older name."""
    built = make_signal([ORDERS, ITEMS], ask("orders", "items", condition="id > 7"), "id1")

    assert built.data["additional-conditions"] == [
        {"data-collection": "testDB.dbo.orders", "filter": "id > 7"},
        {"data-collection": "testDB.dbo.items", "filter": "id > 7"},
    ]
    assert built.data["additional-condition"] == "id > 7"


def test_a_blocking_snapshots_condition_is_its_select() -> None:
    """The older field is for incremental snapshots."""
    requests = ask("orders", type="blocking", condition="SELECT * FROM dbo.orders WHERE id > 7")

    built = make_signal([ORDERS], requests, "id1")

    assert built.data["type"] == "blocking"
    assert built.data["additional-conditions"][0]["filter"] == requests.condition
    assert "additional-condition" not in built.data


@pytest.mark.parametrize(
    ("kind", "condition"),
    [("incremental", "select * from orders"), ("blocking", "id > 7"), ("blocking", " ")],
)
def test_a_condition_of_the_other_snapshot_type_is_refused(kind: SnapshotType, condition: str) -> None:
    """Debezium would find out in the middle of its work."""
    with pytest.raises(UsageError, match="--condition"):
        make_signal([ORDERS], ask("orders", type=kind, condition=condition), "id1")


def test_tables_of_two_connectors_are_refused_with_their_names() -> None:
    """A signal has one receiver."""
    with pytest.raises(UsageError) as caught:
        make_signal([ORDERS, OTHER], ask("orders", "other"), "id1")

    assert "server1 (sqlserver): orders; pg (postgres): other" in str(caught.value)


def test_debeziums_own_names_are_sent_as_they_are() -> None:
    """They may be regular expressions, and hold quoted parts; the topic may have been renamed."""
    renamed = table("renamed", "orders_v2", "postgres")
    name = '"public"."my.orders"'

    built = make_signal([renamed], ask("renamed", collections=(name,), prefix="pg"), "id1")

    assert built.connector == Connector("postgres", "pg")
    assert built.data["data-collections"] == [name]


def test_debeziums_own_names_are_one_for_each_table() -> None:
    """A name too few would leave a table out."""
    with pytest.raises(UsageError, match="found 1 for 2 tables"):
        make_signal([ORDERS, ITEMS], ask("orders", "items", collections=("a.b.c",)), "id1")


def test_a_dialect_without_signals_is_refused() -> None:
    """CDL's jobs are not Debezium connectors."""
    with pytest.raises(UsageError, match="dialect cdl, which takes no Debezium signals"):
        make_signal([table("t", "s.t", "cdl")], ask("t"), "id1")


def test_a_snapshot_needs_a_table() -> None:
    """A missing argument never requests a whole source."""
    with pytest.raises(UsageError, match="needs a table"):
        make_signal([ORDERS], EXECUTE, "id1")


def test_a_stop_without_tables_names_none() -> None:
    """That stops any snapshot in progress."""
    built = make_signal([ORDERS, ITEMS], SignalRequest(kind="stop-snapshot"), "id1")

    assert built.connector == Connector("sqlserver", "server1")
    assert built.data == {"type": "incremental"}


def test_a_stop_of_one_of_several_connectors_goes_by_prefix() -> None:
    """Without it the connectors are named; with one that nobody has, that is reported."""
    tables = [ORDERS, OTHER, table("t", "s.t", "cdl")]

    assert (
        make_signal(tables, SignalRequest(kind="stop-snapshot", prefix="pg"), "id1").connector.prefix == "pg"
    )
    with pytest.raises(UsageError, match=r"several connectors: server1 .*; pg "):
        make_signal(tables, SignalRequest(kind="stop-snapshot"), "id1")
    with pytest.raises(UsageError, match="no connector matches"):
        make_signal(tables, SignalRequest(kind="stop-snapshot", prefix="p"), "id1")


def test_the_message_is_the_json_that_the_kafka_channel_reads() -> None:
    """`data` is an object there, no text."""
    built = make_signal([ORDERS], ask("orders"), "id1")

    assert json.loads(built.message()) == {
        "id": "id1",
        "type": "execute-snapshot",
        "data": {"data-collections": ["testDB.dbo.orders"], "type": "incremental"},
    }
