"""The newest schema changes of one table, from the connector's schema change topic.

A value is `SchemaChangeValue` (debezium: relational/history, HistorizedRelationalDatabaseSchema): its
`tableChanges` name tables by quoted identifiers, and `ddl` is null for SQL Server.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from io import BytesIO
from typing import Any

import attrs
import fastavro

from ingest.errors import SchemaError
from ingest.json_values import JsonValue
from ingest.kafka.sample import RawRecord, sample
from ingest.kafka.watermarks import fetch_watermarks
from ingest.moments import to_moment
from ingest.names import SchemaId, Topic
from ingest.registry import Registry
from ingest.settings import Settings
from ingest.tables import Feed

_LOOKED_AT = 50
"""The number of messages to read at the end of each partition."""


@attrs.frozen
class SourceChange(JsonValue):
    """A schema change at the source: time, CREATE, ALTER or DROP, its statement, and the columns after it."""

    json_keys = "at kind ddl|null columns"

    at: datetime
    kind: str
    ddl: str
    columns: tuple[str, ...]


def read_changes(settings: Settings, registry: Registry, feed: Feed) -> tuple[SourceChange, ...]:
    """Read a table's newest schema changes from the topic that its file names, if it names one."""
    if not feed.table.schema_changes:
        return ()
    topic, kafka = feed.table.schema_changes, settings.kafka
    marks = fetch_watermarks(kafka, [topic]).of(topic)
    ends = {p: (max(mark.begin, mark.end - _LOOKED_AT), mark.end) for p, mark in marks.items()}
    records = sample(kafka, topic, ends, per_end=_LOOKED_AT)
    values = (_decode(registry, topic, record) for record in dict.fromkeys(records))
    changes = (change for value in values if value for change in _changes(feed, value))
    return tuple(sorted(changes, key=lambda change: change.at))


def _decode(registry: Registry, topic: Topic, record: RawRecord) -> Mapping[str, Any] | None:
    """Decode a message, JSON or Confluent Avro.  Return None without a value that is an object."""
    text = record.value
    if not text:
        return None
    try:
        if text[0] == 0:
            schema = registry.by_id(SchemaId(int.from_bytes(text[1:5], "big")))
            *_, avsc = registry.with_references(schema)
            parsed = fastavro.parse_schema(json.loads(avsc))
            value: Any = fastavro.schemaless_reader(BytesIO(text[5:]), parsed, None)
        else:
            value = json.loads(text)
    except (ValueError, EOFError, IndexError) as error:
        raise SchemaError(
            f"topic {topic}", "$", f"holds a message that is not a schema change: {error}"
        ) from error
    payload = value.get("payload", value) if isinstance(value, dict) else None
    return payload if isinstance(payload, dict) else None


def _changes(feed: Feed, value: Mapping[str, Any]) -> list[SourceChange]:
    source = value.get("source") or {}
    at = to_moment(int(source.get("ts_ms") or value.get("ts_ms") or 0))
    ddl = value.get("ddl") or ""
    return [
        SourceChange(at, str(change.get("type", "")), "" if ddl == "N/A" else ddl, _columns(change))
        for change in value.get("tableChanges") or ()
        if _is_of(feed, str(change.get("id", "")))
    ]


def _columns(change: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{column['name']} {column.get('typeName') or ''}".strip()
        for column in (change.get("table") or {}).get("columns") or ()
    )


def _is_of(feed: Feed, identifier: str) -> bool:
    """Compare schema and table: an identifier may have a database before them, a topic a server."""
    named = [part.strip('"`').lower() for part in identifier.split(".")]
    return named[-2:] == [part.lower() for part in feed.connector_topic.split(".")][-len(named[-2:]) :]
