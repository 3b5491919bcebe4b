"""MySQL's events, made by hand after the connector's page: there is no server here to record them.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from confluent_kafka import Producer

from ingest.local.topics import connect, create_topics
from ingest.names import Subject
from tests.compile.sqlserver import decimal, fields_of, key, nullable, semantic
from tests.decode.messages import encode, unscaled
from tests.e2e.deployment import Deployment

pytestmark = [pytest.mark.spark, pytest.mark.servers]

UNSENT = "__debezium_unavailable_value"
COLUMNS = {
    "id": "long",
    "unsigned": nullable(decimal(20, 0)),
    "huge": nullable(decimal(65, 30)),
    "spent": nullable(semantic("long", "io.debezium.time.MicroTime")),
    "made": nullable(semantic("int", "io.debezium.time.Year")),
    "sizes": nullable(semantic("string", "io.debezium.data.EnumSet")),
    "flags": nullable(semantic("bytes", "io.debezium.data.Bits")),
    "at": nullable(semantic("string", "io.debezium.time.ZonedTimestamp")),
    "wall": nullable(semantic("long", "io.debezium.time.MicroTimestamp")),
    "body": nullable("string"),
}
SOURCE = {
    **dict.fromkeys(("version", "connector", "name"), "string"),
    "ts_ms": "long",
    "snapshot": [semantic("string", "io.debezium.data.Enum"), "null"],
    "db": "string",
    "sequence": nullable("string"),
    "table": nullable("string"),
    "server_id": "long",
    "gtid": nullable("string"),
    "file": "string",
    "pos": "long",
    "row": "int",
    "thread": nullable("long"),
    "query": nullable("string"),
}


def envelope() -> Any:
    """Make the value schema, with the source block of the connector's 2.x."""
    row = {"type": "record", "name": "Value", "fields": fields_of(COLUMNS)}
    source = {
        "type": "record",
        "name": "Source",
        "namespace": "io.debezium.connector.mysql",
        "fields": fields_of(SOURCE),
    }
    parts = {"before": nullable(row), "after": nullable("Value"), "source": source, "op": "string"}
    return {"type": "record", "name": "Envelope", "namespace": "shop.orders", "fields": fields_of(parts)}


def row(number: int, body: str | None = None, **values: Any) -> dict[str, Any]:
    """Make a row; what is not given is null."""
    return {**dict.fromkeys(COLUMNS), "id": number, "body": body, **values}


def event(op: str, after: dict[str, Any], file: str, pos: int, line: int = 0) -> dict[str, Any]:
    """Make a change; a delete's row is the one before."""
    at = {**dict.fromkeys(SOURCE), "version": "2.7.0.Final", "connector": "mysql", "name": "m", "db": "shop"}
    at |= {"ts_ms": 1_700_000_000_000 + pos, "server_id": 1, "file": file, "pos": pos, "row": line}
    images = {"before": after, "after": None} if op == "d" else {"before": None, "after": after}
    return {**images, "source": at, "op": op}


LAST, FIRST = "mysql-bin.999999", "mysql-bin.1000000"
FULL = row(
    1,
    "a",
    unsigned=unscaled(2**64 - 1),
    huge=unscaled(-(10**65) + 1),
    spent=-((838 * 3600 + 59 * 60 + 59) * 1_000_000),
    made=2155,
    sizes="s,m",
    flags=b"\x05\x08",
    at="2016-11-04T11:51:30Z",
    wall=1_478_267_490_123_456,
)
EVENTS = [
    event("r", FULL, LAST, 100),
    event("r", row(2, "b"), LAST, 100),
    event("u", row(2, "second file"), FIRST, 4, 1),
    event("u", row(2, "same statement, before"), FIRST, 4, 0),
    event("u", row(2, "older file"), LAST, 999_999),
    event("c", row(3, "c"), FIRST, 10),
    event("d", row(3, "c"), FIRST, 11),
    event("u", {**FULL, "body": UNSENT}, FIRST, 12),
    event("c", row(4, "d", spent=3_020_399_000_000), FIRST, 13),
]


def test_mysqls_tables_equal_their_source(make_deployment: Callable[[], Deployment]) -> None:
    """By binary log, position and row; durations, unsigned numbers, sets, bits and decimals of 65 digits."""
    deployment = make_deployment()
    topic = f"{deployment.prefix}.shop.orders"
    servers, registry = deployment.servers, deployment.session.registry
    create_topics(connect(servers.bootstrap_servers), {topic: 1})
    value, keys = envelope(), key({"id": "long"})
    value_id = registry.register(Subject(f"{topic}-value"), json.dumps(value))
    key_id = registry.register(Subject(f"{topic}-key"), json.dumps(keys))
    producer = Producer({"bootstrap.servers": servers.bootstrap_servers})
    for one in EVENTS:
        number = (one["after"] or one["before"])["id"]
        producer.produce(topic, encode(value_id, value, one), encode(key_id, keys, {"id": number}))
    assert producer.flush(30) == 0
    deployment.session.onboard([topic], name="{table}")

    deployment.run_until_idle(max_offsets=4)

    found = {one["id"]: one for one in deployment.frame("orders").collect()}
    assert {number: one["body"] for number, one in found.items()} == {1: "a", 2: "second file", 4: "d"}
    full = found[1]
    assert full["unsigned"] == Decimal(2**64 - 1)
    assert full["huge"] == f"-{'9' * 35}.{'9' * 30}"
    assert (full["spent"], found[4]["spent"]) == ("-838:59:59.000000", "838:59:59.000000")
    assert (full["made"], full["sizes"], bytes(full["flags"])) == (2155, "s,m", b"\x05\x08")
    assert str(full["wall"]) == "2016-11-04 13:51:30.123456"
