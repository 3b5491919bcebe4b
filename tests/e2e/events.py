"""Change topics as Debezium's SQL Server connector writes them, made event by event.

Schemas go through the real registry, payloads through fastavro, so that nothing of the product's own decoding
is used to make what it must decode.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from typing import Any, Final

import attrs
import fastavro
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient

from ingest.local.servers import Addresses
from tests.compile.sqlserver import decimal, fields_of, nullable, semantic, source

__all__ = [
    "Change",
    "Columns",
    "Record",
    "Row",
    "Topic",
    "decimal",
    "envelope_schema",
    "framed",
    "key_schema",
    "lsn",
    "make_topics",
    "nullable",
    "semantic",
]

Columns = Mapping[str, Any]
"""Columns of a table: name and Avro type, as JSON."""
Row = Mapping[str, Any]
"""Values of a row, by column."""
Record = tuple[bytes | None, bytes | None]
"""Key and value of one message."""

FIRST_MS: Final = 1_700_000_000_000
MAGIC: Final = b"\0"


def lsn(position: int) -> str:
    """Spell a place in the log as SQL Server does."""
    return f"{0x2B:08x}:{position:08x}:0001"


@attrs.frozen
class Change:
    """One event: `at` is its place in the log, `serial` its number there."""

    op: str
    row: Row
    at: int
    serial: int = 1
    before: Row | None = None


@attrs.define
class Topic:
    """One change topic: its key columns, and the ids of the versions that its subjects have."""

    name: str
    key: Columns
    servers: Addresses
    registry: SchemaRegistryClient
    key_id: int = 0
    versions: dict[int, Columns] = attrs.Factory(dict)

    @property
    def last_id(self) -> int:
        """The id of the newest version."""
        return list(self.versions)[-1]

    def add_version(self, columns: Columns) -> int:
        """Register a version of the value subject, whatever it changes; return its id."""
        subject = f"{self.name}-value"
        if self.versions:
            self.registry.set_compatibility(subject, level="NONE")
        else:
            self.key_id = self.register(f"{self.name}-key", key_schema(self.name, self.key))
        schema_id = self.register(subject, envelope_schema(self.name, columns))
        self.versions[schema_id] = dict(columns)
        return schema_id

    def register(self, subject: str, node: Any) -> int:
        """Register any schema; return its id."""
        return self.registry.register_schema(subject, Schema(json.dumps(node), "AVRO"))

    def key_bytes(self, row: Row) -> bytes:
        """Write a message key."""
        key = {name: row[name] for name in self.key}
        return framed(self.key_id, key_schema(self.name, self.key), key)

    def value_bytes(self, change: Change, schema_id: int | None = None) -> bytes:
        """Write a change as a version says, the newest by default."""
        schema_id = schema_id or self.last_id
        node = envelope_schema(self.name, self.versions[schema_id])
        return framed(schema_id, node, _event(change))

    def record(self, change: Change, schema_id: int | None = None) -> Record:
        """Make the message of one change."""
        return self.key_bytes(change.row), self.value_bytes(change, schema_id)

    def records(self, changes: Iterable[Change], schema_id: int | None = None) -> list[Record]:
        """Make the messages of changes; a delete is followed by its tombstone, as the connector does it."""
        made: list[Record] = []
        for change in changes:
            made.append(self.record(change, schema_id))
            if change.op == "d":
                made.append((self.key_bytes(change.row), None))
        return made

    def produce(
        self, records: Iterable[Record], partition: int = 0, headers: Mapping[str, bytes] | None = None
    ) -> None:
        """Append messages to a partition, in order, and wait for the broker to have them."""
        # One request in flight: a topic just made can answer the first with "not leader".
        producer = Producer(
            {
                "bootstrap.servers": self.servers.bootstrap_servers,
                "max.in.flight.requests.per.connection": 1,
                "linger.ms": 5,
                "acks": "all",
            }
        )
        for key, value in records:
            producer.produce(self.name, value, key, partition=partition, headers=dict(headers or {}))
        assert producer.flush(20) == 0

    def send(self, *changes: Change, schema_id: int | None = None) -> None:
        """Append changes to the first partition."""
        self.produce(self.records(changes, schema_id))


def make_topics(
    servers: Addresses,
    columns: Mapping[str, Columns],
    *,
    key: Sequence[str] = ("id",),
    partitions: int = 1,
) -> dict[str, Topic]:
    """Make topics, given by name and columns, with a first version each; result by the name's last part."""
    admin = AdminClient({"bootstrap.servers": servers.bootstrap_servers})
    for made in admin.create_topics([NewTopic(name, partitions, 1) for name in columns]).values():
        made.result(timeout=10)
    registry = SchemaRegistryClient({"url": servers.registry_url})
    topics = {}
    for name, one in columns.items():
        topic = Topic(name, {part: one[part] for part in key}, servers, registry)
        topic.add_version(one)
        topics[name.rpartition(".")[2]] = topic
    return topics


def key_schema(topic: str, columns: Columns) -> Any:
    """Make the schema of message keys."""
    return {"type": "record", "name": "Key", "namespace": topic, "fields": fields_of(columns)}


def envelope_schema(topic: str, columns: Columns, *, source_record: str | None = None) -> Any:
    """Make the schema of change events."""
    row = {"type": "record", "name": "Value", "fields": fields_of(columns)}
    parts = {
        "before": nullable(row),
        "after": nullable("Value"),
        "source": source(source_record) if source_record else source(),
        "op": "string",
        "ts_ms": nullable("long"),
    }
    return {"type": "record", "name": "Envelope", "namespace": topic, "fields": fields_of(parts)}


def framed(schema_id: int, node: Any, value: Any) -> bytes:
    """Write a value behind Confluent's header."""
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(node), value)
    return MAGIC + schema_id.to_bytes(4, "big") + body.getvalue()


def _event(change: Change) -> dict[str, Any]:
    snapshot = change.op == "r"
    moment = FIRST_MS + change.at * 1000
    return {
        "before": change.row if change.op == "d" else change.before,
        "after": None if change.op == "d" else change.row,
        "source": {
            "version": "2.1.4.Final",
            "connector": "sqlserver",
            "name": "srv",
            "ts_ms": moment,
            "snapshot": "true" if snapshot else None,
            "db": "testDB",
            "sequence": None,
            "schema": "dbo",
            "table": "t",
            "change_lsn": None if snapshot else lsn(change.at),
            "commit_lsn": lsn(change.at),
            "event_serial_no": None if snapshot else change.serial,
        },
        "op": change.op,
        "ts_ms": moment + 5,
    }
