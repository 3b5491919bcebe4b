"""MySQL's events, written by hand from the connector's documentation: no server is available here.

https://debezium.io/documentation/reference/stable/connectors/mysql.html
"""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest

from ingest.testing import decimal, nullable, semantic, unscaled
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


def row(number: int, body: str | None = None, **values: Any) -> dict[str, Any]:
    """Return a row; missing columns are null."""
    return {**dict.fromkeys(COLUMNS), "id": number, "body": body, **values}


def at(file: str, pos: int, line: int = 0) -> dict[str, Any]:
    """Return the binlog fields of `source`."""
    return {"file": file, "pos": pos, "row": line}


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


def test_mysqls_tables_equal_their_source(make_deployment: Callable[[], Deployment]) -> None:
    """By binlog, position and row; durations, unsigned numbers, sets, bits and decimals of 65 digits."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.shop.orders"
    topic = deployment.topic(name, COLUMNS, connector="mysql")
    topic.send(
        topic.read(FULL, at=at(LAST, 100)),
        topic.read(row(2, "b"), at=at(LAST, 100)),
        topic.update(row(2, "second file"), at=at(FIRST, 4, 1)),
        topic.update(row(2, "same statement, before"), at=at(FIRST, 4, 0)),
        topic.update(row(2, "older file"), at=at(LAST, 999_999)),
        topic.create(row(3, "c"), at=at(FIRST, 10)),
        topic.delete(row(3, "c"), at=at(FIRST, 11), tombstone=False),
        topic.update({**FULL, "body": UNSENT}, at=at(FIRST, 12)),
        topic.create(row(4, "d", spent=3_020_399_000_000), at=at(FIRST, 13)),
    )
    deployment.onboard([name])

    deployment.run_until_idle(max_offsets=4)

    orders = {order["id"]: order for order in deployment.frame("orders").collect()}
    assert {number: order["body"] for number, order in orders.items()} == {1: "a", 2: "second file", 4: "d"}
    full = orders[1]
    assert full["unsigned"] == Decimal(2**64 - 1)
    assert full["huge"] == f"-{'9' * 35}.{'9' * 30}"
    assert (full["spent"], orders[4]["spent"]) == ("-838:59:59.000000", "838:59:59.000000")
    assert (full["made"], full["sizes"], bytes(full["flags"])) == (2155, "s,m", b"\x05\x08")
    assert str(full["wall"]) == "2016-11-04 13:51:30.123456"
