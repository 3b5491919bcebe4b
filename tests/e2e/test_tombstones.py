"""Tombstones as the only word of a delete, on topics that a real broker has compacted."""

import time
from collections.abc import Callable
from io import BytesIO
from itertools import chain
from typing import Any, Final

import attrs
import fastavro
import pytest
from confluent_kafka import OFFSET_BEGINNING, Consumer, Message, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from ingest.testing import Messages, Topic, framed, key_schema, nullable
from ingest.testing.servers import LocalServers
from ingest.testing.wire import without_logical_types
from tests.e2e.deployment import Deployment
from tests.e2e.forms.flattened import ADDED, flat_avro, flatten
from tests.e2e.tablefiles import copy_table
from tests.patience import ANSWER_S, PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "v": nullable("string")}
COMPACT: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.001",
    "min.compaction.lag.ms": "0",
}
WAIT_S: Final = PATIENCE_S


def compacted(deployment: Deployment, name: str) -> LocalServers:
    """Make a compacted topic."""
    local = LocalServers(deployment.servers)
    local.make_topic(name)
    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in COMPACT.items()
    ]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    for future in admin.incremental_alter_configs([resource]).values():
        future.result(timeout=ANSWER_S)
    return local


def begin(deployment: Deployment, name: str, connector: str) -> Topic:
    """Begin a compacted topic of a connector's events."""
    local = compacted(deployment, name)
    return Topic.begin(name, COLUMNS if connector != "mongodb" else {}, local, connector=connector)


@attrs.frozen
class FlatTopic:
    """A compacted topic of flattened rows, made of the events of another one; a delete is a tombstone."""

    name: str
    events: Topic
    schema: Any
    schema_id: int

    def key_bytes(self, row: dict[str, Any]) -> bytes:
        """Encode a key."""
        return self.events.key_bytes(row)

    def update(self, row: dict[str, Any]) -> Messages:
        """Return the messages of an update."""
        return self.events.update(row)

    def send(self, *groups: Messages) -> None:
        """Append the flattened rows of events."""
        flat = ((key, self.flatten(value)) for key, value in chain(*groups) if key is not None)
        # The event of a delete and its tombstone become one.
        self.events.servers.produce(self.name, list(dict.fromkeys(flat)), 0, {})

    def flatten(self, value: bytes | None) -> bytes | None:
        """Flatten an event; a delete becomes null."""
        if value is None:
            return None
        parsed = fastavro.parse_schema(without_logical_types(self.events.envelope(COLUMNS)))
        row = flatten(fastavro.schemaless_reader(BytesIO(value[5:]), parsed), ADDED["sqlserver"], "tombstone")
        return None if row is None else framed(self.schema_id, self.schema, row)


def begin_flat(deployment: Deployment, name: str) -> FlatTopic:
    """Begin a compacted topic of flattened rows."""
    local = compacted(deployment, name)
    events = Topic.begin(f"{name}_events", COLUMNS, local)
    local.register(f"{name}-key", key_schema(events.name, events.key), None)
    schema = flat_avro(events.envelope(COLUMNS), ADDED["sqlserver"], "tombstone")
    return FlatTopic(name, events, schema, local.register(f"{name}-value", schema, None))


def messages(deployment: Deployment, topic: Topic | FlatTopic) -> list[Message]:
    """Read all that the topic holds."""
    consumer = Consumer(
        {
            "bootstrap.servers": deployment.servers.bootstrap_servers,
            "group.id": "test",
            "enable.partition.eof": True,
        }
    )
    try:
        consumer.assign([TopicPartition(topic.name, 0, OFFSET_BEGINNING)])
        records: list[Message] = []
        while (record := consumer.poll(10)) is not None and record.error() is None:
            records.append(record)
        return records
    finally:
        consumer.close()


def wait_for_cleaner(
    deployment: Deployment, topic: Topic | FlatTopic, row: dict[str, Any], filler: dict[str, Any]
) -> None:
    """Append until the cleaner has removed all of a row's messages but its tombstone."""
    end = time.monotonic() + WAIT_S
    key = topic.key_bytes(row)
    while len(own := [message for message in messages(deployment, topic) if message.key() == key]) != 1:
        assert time.monotonic() < end, f"the broker has not compacted {topic.name}"
        topic.send(topic.update(filler))  # a segment is closed by the next message
        time.sleep(0.5)
    assert own[0].value() is None


def rows(deployment: Deployment, table: str) -> dict[int, tuple[Any, ...]]:
    """Read a table's row for each key."""
    df = deployment.frame(table)
    names = [name for name in ("_cdc_deleted", "v") if name in df.columns]
    result = df.select("id", *names).collect()
    assert len({row[0] for row in result}) == len(result), f"{table} has a key twice"
    return {row[0]: tuple(row)[1:] for row in result}


def test_a_compacted_topic_deletes_by_its_tombstones(make_deployment: Callable[[], Deployment]) -> None:
    """On COW and MOR, with soft deletes and appended changes, again after the offsets are moved back."""
    deployment = make_deployment()
    topic = begin(deployment, f"{deployment.prefix}.testDB.dbo.cow", "sqlserver")
    topic.send(*(topic.create({"id": number, "v": f"v{number}"}) for number in (1, 2, 3)))
    deployment.onboard()
    copy_table(deployment, "cow", "mor", type='"mor"')
    copy_table(deployment, "cow", "soft", type='"mor"', delete='"soft"')
    copy_table(deployment, "cow", "log", mode='"append"')
    assert deployment.run().outcome == "done"

    topic.send(topic.delete({"id": 1, "v": "v1"}), topic.update({"id": 3, "v": "new"}))
    wait_for_cleaner(deployment, topic, {"id": 1, "v": "v1"}, {"id": 3, "v": "new"})
    report = deployment.run()

    assert report.outcome == "done", report.to_json()
    expected = {2: ("v2",), 3: ("new",)}
    counts = {table.table: table.counts for table in report.tables}
    assert {name: counts[name].deleted for name in counts} == {"cow": 1, "mor": 1, "soft": 1, "log": 0}
    assert counts["log"].ignored == {"tombstone": 1}
    for _ in range(2):
        assert rows(deployment, "cow") == rows(deployment, "mor") == expected
        assert rows(deployment, "soft") == {1: (True, "v1"), 2: (False, "v2"), 3: (False, "new")}
        for name in ("cow", "mor", "soft"):
            deployment.session.move_offsets(name, "earliest")
        again = deployment.run_until_idle(max_offsets=3)
        assert {table.counts.deleted for item in again for table in item.tables} == {0}


def test_flattened_rows_of_a_compacted_topic_are_deleted_by_tombstones(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Soft deletes too, again after the offsets are moved back; a later row of the key brings it back."""
    deployment = make_deployment()
    topic = begin_flat(deployment, f"{deployment.prefix}.testDB.dbo.flat")
    topic.send(*(topic.events.create({"id": number, "v": f"v{number}"}) for number in (1, 2, 3)))
    deployment.onboard([topic.name])
    copy_table(deployment, "flat", "soft", delete='"soft"')
    assert deployment.run().outcome == "done"

    topic.send(topic.events.delete({"id": 1, "v": "v1"}), topic.update({"id": 3, "v": "new"}))
    wait_for_cleaner(deployment, topic, {"id": 1, "v": "v1"}, {"id": 3, "v": "new"})
    report = deployment.run()

    assert report.outcome == "done", report.to_json()
    assert [table.counts.deleted for table in report.tables] == [1, 1]
    for _ in range(2):
        assert rows(deployment, "flat") == {2: ("v2",), 3: ("new",)}
        assert rows(deployment, "soft") == {1: (True, "v1"), 2: (False, "v2"), 3: (False, "new")}
        for name in ("flat", "soft"):
            deployment.session.move_offsets(name, "earliest")
        deployment.run_until_idle(max_offsets=3)
    topic.send(topic.events.create({"id": 1, "v": "back"}))
    assert deployment.run().outcome == "done"
    assert rows(deployment, "flat")[1] == ("back",)
    assert rows(deployment, "soft")[1] == (False, "back")


def test_documents_and_rows_of_one_batch_are_deleted_by_tombstones(
    make_deployment: Callable[[], Deployment],
) -> None:
    """MongoDB's, and PostgreSQL's rows that come with their tombstone (RisingWave's compacted topic)."""
    deployment = make_deployment()
    documents = begin(deployment, f"{deployment.prefix}.inventory.docs", "mongodb")
    plain = begin(deployment, f"{deployment.prefix}.public.plain", "postgres")
    documents.send(*(documents.create({"_id": number, "v": "a"}) for number in (1, 2)))
    plain.send(*(plain.read({"id": number, "v": "a"}) for number in (1, 2, 3)))
    plain.send(plain.update({"id": 1, "v": "b"}), plain.tombstone({"id": 1}))
    deployment.onboard([documents.name, plain.name])
    first = {table.table: table.counts for table in deployment.run().tables}
    assert (first["plain"].upserted, first["plain"].deleted, first["plain"].superseded) == (2, 1, 2)

    documents.send(documents.tombstone({"_id": 1}))
    report = deployment.run()
    assert report.outcome == "done", report.to_json()
    assert rows(deployment, "plain") == {2: ("a",), 3: ("a",)}
    assert [row["id"] for row in deployment.frame("docs").select("id").collect()] == ["2"]
