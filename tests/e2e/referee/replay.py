"""The recorded events, decoded and reduced to rows in plain Python: proves the referee before the product.

The newest event of a key wins by the order of the file, which for one partition is the connector's order.
"""

import base64
import gzip
import json
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from typing import Any

import attrs
import fastavro

from tests.e2e.recordings import Recording
from tests.e2e.referee.shape import Shape, convert, of_avro, of_connect

PLACEHOLDER = "__debezium_unavailable_value"
Row = dict[str, Any]


@attrs.frozen
class Side:
    """One decoded key or value."""

    shape: Shape
    content: Row


def replay(recording: Recording, table: str) -> list[Row]:
    """Reduce a recorded topic to its final rows, with the values that a table has."""
    reader = JsonReader() if recording.format == "debezium-json" else AvroReader(recording)
    rows: dict[tuple[Any, ...], Row] = {}
    for key_bytes, value_bytes in _messages(recording, table):
        if value_bytes is None:
            continue  # the tombstone after a delete
        value = reader.read(value_bytes)
        if value.content["op"] == "t":
            rows.clear()
            continue
        assert key_bytes is not None
        key = _row_of(reader.read(key_bytes))
        apply(rows, key, value, is_document=recording.source == "mongodb")
    columns = {name: None for row in rows.values() for name in row}
    return [{**columns, **row} for row in rows.values()]  # a later column is null in older rows


@attrs.frozen
class Event:
    """A change of one row: `row` is None for a delete; one without a key is a truncate."""

    offset: int
    op: str
    source_ms: int
    key: Row
    row: Row | None = None


def read_events(recording: Recording, table: str) -> Iterator[Event]:
    """Read the recorded changes of a table, with the values that a table has.

    A connector that was killed sends events again: the same in all parts, and read once here.  Not those of
    Oracle's connector: its events have no position, so that the order is Kafka's, and each is a change again.
    """
    is_ordered_by_kafka = recording.source == "oracle"
    seen = set[str]()
    reader = JsonReader() if recording.format == "debezium-json" else AvroReader(recording)
    is_document = recording.source == "mongodb"
    for offset, (key_bytes, value_bytes) in enumerate(_messages(recording, table)):
        if value_bytes is None:
            continue
        value = reader.read(value_bytes)
        op, source_ms = value.content["op"], value.content["source"]["ts_ms"]
        delivery = repr((key_bytes, op, *(value.content.get(name) for name in ("source", "before", "after"))))
        if delivery in seen and not is_ordered_by_kafka:
            continue
        seen.add(delivery)
        if key_bytes is None or op == "t":
            yield Event(offset, op, source_ms, {})
            continue
        key = _row_of(reader.read(key_bytes))
        row = None
        if op != "d":
            after = value.content["after"]
            row = (
                {**key, "doc": after or PLACEHOLDER}
                if is_document
                else _row_of(Side(value.shape.fields["after"], after))
            )
        yield Event(offset, op, source_ms, key, row)


def apply(rows: dict[tuple[Any, ...], Row], key: Row, event: Side, *, is_document: bool) -> None:
    """Apply one change of a row."""
    row_key = tuple(key.values())
    if event.content["op"] == "d":
        rows.pop(row_key, None)
    elif is_document:
        if event.content["after"] is not None:  # null: deleted before the look-up; the delete follows
            rows[row_key] = {**key, "doc": event.content["after"]}
    else:
        after = _row_of(Side(event.shape.fields["after"], event.content["after"]))
        stored = rows.get(row_key, {})
        rows[row_key] = {n: stored.get(n) if is_unavailable(v) else v for n, v in after.items()}


def is_unavailable(value: Any) -> bool:
    """Return whether a value is the placeholder, in any form a column can give it."""
    return value in (PLACEHOLDER, PLACEHOLDER.encode(), [PLACEHOLDER])


def _row_of(side: Side) -> Row:
    return {name: convert(side.shape.fields[name], value) for name, value in side.content.items()}


def _messages(recording: Recording, table: str) -> Iterator[tuple[bytes | None, bytes | None]]:
    path = recording.folder / "messages" / f"{recording.topic(table)}.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            yield _bytes(message["k"]), _bytes(message["v"])


def _bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)


class JsonReader:
    """Reads payloads with an embedded Connect schema."""

    def read(self, payload: bytes) -> Side:
        """Decode one payload."""
        message = json.loads(payload)
        shape = of_connect(json.dumps(message["schema"]))
        return Side(shape, message["payload"])


class AvroReader:
    """Reads Confluent-framed payloads with the schemas of a recording."""

    def __init__(self, recording: Recording) -> None:
        fixture = json.loads((recording.folder / "fixture.json").read_text(encoding="utf-8"))
        self._files = {
            entry["id"]: recording.folder / entry["subject"] / f"v{entry['version']}.avsc"
            for entry in fixture["schemas"]
        }
        self._schema = cache(self._read_schema)

    def read(self, payload: bytes) -> Side:
        """Decode one payload."""
        parsed, shape = self._schema(int.from_bytes(payload[1:5], "big"))
        return Side(shape, fastavro.schemaless_reader(BytesIO(payload[5:]), parsed))

    def _read_schema(self, schema_id: int) -> tuple[Any, Shape]:
        schema = json.loads(self._files[schema_id].read_text(encoding="utf-8"))
        shape = of_avro(schema)
        return fastavro.parse_schema(_without_logical_types(schema)), shape


def _without_logical_types(schema: Any) -> Any:
    """Drop logical types, which fastavro would convert or refuse (Oracle's negative scales)."""
    if isinstance(schema, list):
        return [_without_logical_types(part) for part in schema]
    if isinstance(schema, dict):
        dropped = {"logicalType", "scale", "precision"}
        return {
            k: v if k == "default" else _without_logical_types(v)
            for k, v in schema.items()
            if k not in dropped
        }
    return schema
