"""Events built for every connector become the rows that they describe."""

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.compile.table import CompiledTable, compile_table
from ingest.names import SchemaId, Subject
from ingest.names import Topic as TopicName
from ingest.tables import Subjects, TableConfig
from ingest.testing import (
    Message,
    Topic,
    assert_table,
    decimal,
    nullable,
    timestamp,
)
from ingest.testing.servers import Memory
from tests.decode.messages import frame, rows_of
from tests.feeds import feed

pytestmark = pytest.mark.spark

MOMENT = datetime(2024, 2, 29, 23, 59, 59, 123_456)  # noqa: DTZ001  a wall clock
OLD = {"id": "int", "name": nullable("string"), "price": nullable(decimal(9, 2))}
NEW = {**OLD, "price": nullable(decimal(12, 2)), "at": nullable(timestamp())}


def old(number: int, name: str) -> dict[str, Any]:
    """Return a row of the old version."""
    return {"id": number, "name": name, "price": Decimal("1234567.89")}


def new(number: int, name: str) -> dict[str, Any]:
    """Return a row of the new version, with values that the old one cannot hold."""
    return {**old(number, name), "price": Decimal("1234567890.12"), "at": MOMENT}


def compiled(topic: Topic) -> CompiledTable:
    """Compile the topic's schemas with a table file of defaults."""
    assert isinstance(topic.servers, Memory)
    sides: dict[str, list[WriterSchema]] = {"key": [], "value": []}
    for label, node in topic.servers.schemas.items():
        subject, _, number = label.partition(" ")
        written = WriterSchema(SchemaId(int(number)), label, avro.parse(json.dumps(node)))
        sides[subject.rpartition("-")[2]].append(written)
    name = TopicName(topic.name)
    subjects = Subjects(key=Subject(f"{name}-key"), value=Subject(f"{name}-value"))
    table = TableConfig(name="t", topic=name, dialect=topic.connector.name, subjects=subjects)
    return compile_table(feed(table), sides["key"], sides["value"])


def history(topic: Topic) -> list[Message]:
    """Return a truncate, a snapshot, changes of two versions, a key change, and late changes."""
    first = topic.current
    if topic.connector.can_truncate:
        topic.send(topic.create(old(8, "gone")), topic.truncate())
    topic.send(topic.read(old(1, "read")), topic.read(old(2, "read")), topic.read(old(3, "read")))
    topic.send(topic.update(old(2, "updated"), before=old(2, "read")), topic.create(old(4, "created")))
    topic.version(NEW)
    topic.send(topic.update(new(1, "new"), at=20), topic.delete(old(3, "read"), schema_id=first))
    topic.send(
        topic.update(old(1, "late"), at=15, schema_id=first), topic.change_key(new(4, "m"), new(9, "m"))
    )
    topic.send(
        topic.read(new(5, "again"), snapshot="incremental"), topic.update(old(2, "last"), schema_id=first)
    )
    assert isinstance(topic.servers, Memory)
    return topic.servers.messages


@pytest.mark.parametrize(
    ("connector", "name"),
    [
        ("sqlserver", "srv.testDB.dbo.t"),
        ("oracle", "srv.APP.T"),
        ("postgres", "srv.public.t"),
        ("mysql", "srv.shop.t"),
    ],
)
def test_a_tables_history_ends_in_its_rows(spark: SparkSession, connector: str, name: str) -> None:
    """Through decoding and ordering, both versions in one batch."""
    topic = Topic.begin(name, OLD, Memory(), connector=connector)
    messages = history(topic)

    counts, rows = rows_of(frame(spark, messages), compiled(topic))

    # Oracle before 2.5 has no position that orders all its changes: the last message wins.
    first = old(1, "late") if connector == "oracle" else new(1, "new")
    expected = [
        {**first, "_cdc_op": "u"},
        {**old(2, "last"), "_cdc_op": "u"},
        {**new(9, "m"), "_cdc_op": "c"},
        {**new(5, "again"), "_cdc_op": "r"},
    ]
    deleted = [{"id": number, "_cdc_op": "d"} for number in (3, 4)]
    assert_table(rows, [*expected, *deleted], key=["id"])
    assert (counts.ignored["tombstone"], counts.read) == (2, len(messages))


def test_documents_histories_end_in_the_last_document(spark: SparkSession) -> None:
    """By Kafka's order; an `_id` of a number and one of text are two keys."""
    topic = Topic.begin("srv.shop.orders", {}, Memory(), connector="mongodb")
    topic.send(topic.read({"_id": 1, "v": 1}), topic.create({"_id": "1", "v": 2}), topic.create({"_id": 2}))
    topic.send(topic.update({"_id": 1, "v": 3}), topic.delete({"_id": 2}))
    assert isinstance(topic.servers, Memory)

    _, rows = rows_of(frame(spark, topic.servers.messages), compiled(topic))

    documents = {row["id"]: json.loads(row["doc"]) for row in rows.where("_cdc_op <> 'd'").collect()}
    assert sorted(documents.values(), key=str) == [{"_id": "1", "v": 2}, {"_id": 1, "v": 3}]
