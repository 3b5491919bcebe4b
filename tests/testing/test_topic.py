"""The builders write the same schemas and events as the connectors."""

import json
from datetime import UTC, date, datetime, time
from decimal import Decimal
from io import BytesIO
from typing import Any

import fastavro
import pytest

from ingest import testing
from ingest.errors import UsageError
from ingest.testing import (
    CONNECTORS,
    Topic,
    decimal,
    envelope_schema,
    key_schema,
    nullable,
    timestamp,
    variable_decimal,
    zoned_timestamp,
)
from ingest.testing.servers import Memory
from ingest.testing.wire import physical, without_logical_types
from tests.testing.recorded import TOPICS, read_events, read_schema

COLUMNS = {"id": "int", "name": nullable("string")}
POSITION = {
    "sqlserver": ("change_lsn", "commit_lsn", "event_serial_no", "sequence"),
    "oracle": ("txId", "scn", "commit_scn", "lcr_position", "rs_id", "ssn", "redo_thread", "sequence"),
    "mongodb": ("rs", "ord", "sequence"),
    "postgres": ("sequence", "txId", "lsn", "xmin"),
}
"""The fields of `source` that tell the place."""


def topic_of(connector: str = "sqlserver", columns: Any = COLUMNS) -> Topic:
    """Create a topic without servers."""
    name = TOPICS.get(connector, "mys.shop.customers")
    return Topic.begin(name, {} if connector == "mongodb" else columns, Memory(), connector=connector)


def decode(topic: Topic, value: bytes | None) -> Any:
    """Read a value with its registered schema."""
    assert value is not None
    assert isinstance(topic.servers, Memory)
    node = topic.servers.schemas[f"{topic.name}-value {int.from_bytes(value[1:5], 'big')}"]
    return fastavro.schemaless_reader(
        BytesIO(value[5:]), fastavro.parse_schema(without_logical_types(node)), None
    )


def event(topic: Topic, messages: testing.Messages) -> Any:
    """Read the only value."""
    (value,) = [value for _, value in messages if value is not None]
    return decode(topic, value)


# --- against the recordings ----------------------------------------------------------------------


@pytest.mark.parametrize("connector", TOPICS)
def test_schemas_are_those_that_the_connector_registered(connector: str) -> None:
    """Every name, type, default, version and parameter, of key and value."""
    recorded = read_schema(connector, "value")
    row = recorded["fields"][0]["type"][1]
    columns = {field["name"]: field["type"] for field in row.get("fields", ())}
    keys = {field["name"]: field["type"] for field in read_schema(connector, "key")["fields"]}

    assert envelope_schema(TOPICS[connector], columns, CONNECTORS[connector]) == recorded
    assert key_schema(TOPICS[connector], keys) == read_schema(connector, "key")


def _kinds(connector: str, events: list[Any]) -> dict[tuple[str, bool, bool], set[Any]]:
    kinds: dict[tuple[str, bool, bool], set[Any]] = {}
    for change in events:
        snapshot = change["source"]["snapshot"]
        kind = (change["op"], snapshot == "false", snapshot == "incremental")
        kinds.setdefault(kind, set()).add(_nulls(connector, change["source"]))
    return kinds


def _nulls(connector: str, source: Any) -> frozenset[str]:
    return frozenset(name for name in POSITION[connector] if source[name] is None)


@pytest.mark.parametrize("connector", TOPICS)
def test_positions_have_the_fields_of_the_connectors(connector: str) -> None:
    """For each kind of event the same fields of `source` are null as in a recording."""
    recorded = _kinds(connector, read_events(connector))
    topic = topic_of(connector)
    row = {"id": 1, "_id": 1} if connector == "mongodb" else {"id": 1}
    messages = [topic.read(row), topic.create(row), topic.update(row), topic.delete(row)]
    if ("r", False, True) in recorded:
        messages.append(topic.read(row, snapshot="incremental"))

    built = _kinds(connector, [event(topic, message) for message in messages])

    assert built.keys() <= recorded.keys()
    assert {kind: fields for kind, fields in built.items() if not fields <= recorded[kind]} == {}


@pytest.mark.parametrize("connector", CONNECTORS)
def test_the_source_names_its_connector_and_its_table(connector: str) -> None:
    """From the topic's name."""
    topic = topic_of(connector)
    source = event(topic, topic.create({"id": 1, "_id": 1} if connector == "mongodb" else {"id": 1}))[
        "source"
    ]
    name = {"postgres": "postgresql"}.get(connector, connector)
    parts = topic.name.split(".")
    assert (source["connector"], source["name"]) == (name, parts[0])
    assert source.get("table", source.get("collection")) == parts[-1]
    if connector in ("sqlserver", "mongodb", "mysql"):
        assert source["db"] == parts[1]


# --- the log -------------------------------------------------------------------------------------


def commit_lsns(topic: Topic, *messages: testing.Messages) -> list[str]:
    """Read the commit LSN of each event."""
    return [event(topic, message)["source"]["commit_lsn"] for message in messages]


def test_the_log_advances_by_itself() -> None:
    """Each change has its own position; rows of a snapshot have the end of the log."""
    topic = topic_of()
    row = {"id": 1}
    places = commit_lsns(
        topic, topic.read(row), topic.read(row), topic.create(row), topic.update(row), topic.read(row)
    )
    assert places == sorted(places)
    assert [len(set(places)), places[0] == places[1], places[3] == places[4]] == [3, True, True]


def test_an_explicit_position_applies_only_to_its_event() -> None:
    """An older or newer number, or fields of `source`; the log continues after the newest."""
    topic = topic_of()
    row = {"id": 1}
    first, late, far, after = commit_lsns(
        topic,
        topic.create(row, at=10),
        topic.update(row, at=3),
        topic.update(row, at=40),
        topic.update(row),
    )
    assert late < first < far < after
    by_hand = event(topic, topic.update(row, at={"commit_lsn": "x", "version": "3.6.0.Final"}))["source"]
    assert (by_hand["commit_lsn"], by_hand["version"]) == ("x", "3.6.0.Final")
    assert by_hand["change_lsn"] is not None


def test_a_key_change_is_three_messages_at_one_position() -> None:
    """A delete, its tombstone, and a create with the next number."""
    topic = topic_of()
    (old, deleted), tombstone, (new, created) = topic.change_key(
        {"id": 1, "name": "a"}, {"id": 2, "name": "a"}
    )
    assert (old, None) == tombstone != (new, None)
    before, after = decode(topic, deleted), decode(topic, created)
    assert (before["op"], before["before"]["id"], after["op"], after["after"]["id"]) == ("d", 1, "c", 2)
    assert before["source"]["commit_lsn"] == after["source"]["commit_lsn"]
    assert [event["source"]["event_serial_no"] for event in (before, after)] == [1, 2]


def test_a_delete_of_postgresql_has_only_the_key() -> None:
    """REPLICA IDENTITY DEFAULT: other columns are null, or empty if the type is required."""
    topic = topic_of("postgres", {"id": "int", "name": "string", "age": nullable("int")})
    (_, value), (_, nothing) = topic.delete({"id": 7, "name": "a", "age": 5})
    assert decode(topic, value)["before"] == {"id": 7, "name": "", "age": None}
    assert nothing is None


def test_a_truncate_has_neither_key_nor_rows() -> None:
    """For the connectors that send it."""
    topic = topic_of("postgres")
    ((key, value),) = topic.truncate()
    truncated = decode(topic, value)
    assert (key, truncated["op"], truncated["before"], truncated["after"]) == (None, "t", None, None)
    with pytest.raises(UsageError, match="sqlserver's connector does not send truncate events"):
        topic_of().truncate()


# --- versions and values -------------------------------------------------------------------------


def test_events_use_the_current_version_by_default() -> None:
    """Each framed with the id of its schema."""
    topic = topic_of()
    old = topic.current
    new = topic.version({**COLUMNS, "age": nullable("int")})
    ((_, current),) = topic.create({"id": 1, "age": 5})
    ((_, older),) = topic.create({"id": 2}, schema_id=old)
    assert current is not None
    assert older is not None
    assert [int.from_bytes(value[1:5], "big") for value in (current, older)] == [new, old]
    assert decode(topic, current)["after"] == {"id": 1, "name": None, "age": 5}
    with pytest.raises(UsageError, match="no version with id 99"):
        topic.create({"id": 1}, schema_id=99)


def test_a_version_may_be_of_another_subject() -> None:
    """As with naming by record: events carry its id."""
    topic = topic_of()
    assert isinstance(topic.servers, Memory)
    schema_id = topic.version(COLUMNS, subject="shop.Customer")
    ((_, value),) = topic.create({"id": 1})
    assert value is not None
    assert int.from_bytes(value[1:5], "big") == schema_id
    assert topic.servers.schemas[f"shop.Customer {schema_id}"] == topic.envelope(COLUMNS)


def test_an_unknown_column_is_refused() -> None:
    """Fastavro would drop it silently."""
    with pytest.raises(UsageError, match="unknown columns nmae; this version has id, name"):
        topic_of().create({"id": 1, "nmae": "a"})


@pytest.mark.parametrize(
    ("kind", "value", "written"),
    [
        (decimal(9, 2), Decimal("-1.5"), b"\xff\x6a"),
        (nullable(decimal(65, 30)), Decimal("1e34"), testing.unscaled(10**64)),
        (decimal(9, 2), b"\x01", b"\x01"),
        (variable_decimal(), Decimal("12.345"), {"scale": 3, "value": testing.unscaled(12345)}),
        (variable_decimal(), Decimal("1E+40"), {"scale": -40, "value": b"\x01"}),
        (testing.date(), date(1969, 12, 31), -1),
        (timestamp("ms"), datetime(1970, 1, 1, 0, 0, 1), 1_000),  # noqa: DTZ001  a wall clock
        (nullable(timestamp("us")), datetime(1969, 12, 31, 23, 59, 59, 999_999), -1),  # noqa: DTZ001
        (timestamp("ns"), datetime(1970, 1, 1, 0, 0, 0, 7), 7_000),  # noqa: DTZ001
        (timestamp("ns"), 7, 7),
        (testing.time("us"), time(0, 0, 1, 5), 1_000_005),
        (zoned_timestamp(), datetime(2020, 2, 29, 12, tzinfo=UTC), "2020-02-29T12:00:00Z"),
        (nullable(testing.enum("a", "b")), "b", "b"),
        ({"type": "array", "items": nullable(testing.date())}, [date(1970, 1, 2), None], [1, None]),
        ({"type": "map", "values": decimal(3, 0)}, {"k": Decimal(1)}, {"k": b"\x01"}),
        (nullable(timestamp()), None, None),
    ],
)
def test_values_become_the_physical_type(kind: Any, value: Any, written: Any) -> None:
    """Decimals, dates and times of Python, also inside arrays and maps; physical values stay."""
    assert physical(kind, value) == written


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (decimal(9, 2), Decimal("1.234"), "more than 2 digits"),
        (timestamp("ms"), datetime(2020, 1, 1, 0, 0, 0, 1), "finer than the column's unit"),  # noqa: DTZ001
        (zoned_timestamp(), datetime(2020, 1, 1), "has no time zone"),  # noqa: DTZ001
    ],
)
def test_values_that_would_lose_digits_are_refused(kind: Any, value: Any, message: str) -> None:
    """The error names the column."""
    with pytest.raises(UsageError, match=message) as caught:
        physical(kind, value, "price")
    assert str(caught.value).startswith("price: ")


def test_a_connector_without_builders_is_named() -> None:
    """No registry describes CDL's JSON messages."""
    with pytest.raises(UsageError, match="cannot build events of cdl"):
        Topic.begin("a.b.c", COLUMNS, Memory(), connector="cdl")


def test_documents_are_text_with_a_key_of_text() -> None:
    """The key's one field is the document's `_id`, as JSON."""
    topic = topic_of("mongodb")
    ((_, value),) = topic.create({"_id": {"$oid": "65f0c0de"}, "name": "é"})
    assert json.loads(decode(topic, value)["after"]) == {"_id": {"$oid": "65f0c0de"}, "name": "é"}
    assert topic.key == {"id": "string"}
