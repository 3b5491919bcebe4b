"""Rows flattened by Debezium's ExtractNewRecordState, in Avro and in JSON.

The row, followed by `add.fields` with the prefix `__`.  Under `delete.tombstone.handling.mode =
rewrite-with-tombstone`, a delete is the previous row with `__deleted` "true"; under `tombstone`, only a
tombstone.  A truncate has no row and is dropped
(debezium: transforms/ExtractNewRecordState.java, AbstractExtractNewRecordState.java).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import Final, Literal

import attrs
import fastavro

from ingest.local.fixture import Message
from ingest.testing import framed
from ingest.testing.wire import without_logical_types
from tests.e2e.forms.folder import Json, Recorded, read_topic, write_folder, write_schemas, write_topic
from tests.e2e.recordings import Recording

Mode = Literal["rewrite-with-tombstone", "tombstone"]

ADDED: Final[Mapping[str, tuple[str, ...]]] = {
    "postgres": ("op", "lsn", "sequence", "source.ts_ms", "snapshot"),
    "sqlserver": ("op", "commit_lsn", "change_lsn", "event_serial_no", "source.ts_ms"),
}
"""`add.fields` of each connector."""

_VALUE_IDS: Final = 1_000_000
"""Ids of flattened schemas are those of the envelopes and this."""


def make_flattened(folder: Path, recording: Recording, mode: Mode, tables: Sequence[str]) -> Recording:
    """Flatten some of a recording's tables; return the new recording."""
    write_folder(folder, recording)
    added = ADDED[recording.source]
    schemas: list[tuple[str, int, Json]] = []
    for table in tables:
        topic = recording.topic(table)
        recorded = read_topic(recording, table)
        if recording.format == "avro":
            write_topic(folder, topic, _avro(recorded, added, mode))
            schemas += _schemas(topic, recorded, added, mode)
        else:
            write_topic(folder, topic, _json(recorded, added, mode))
    if schemas:
        write_schemas(folder, schemas)
    return attrs.evolve(recording, name=str(folder), tables=tuple(tables))


def flatten(event: Json, added: Sequence[str], mode: Mode) -> Json | None:
    """Return the row of an event; None if the event is dropped."""
    deleted = event["op"] == "d"
    if event["op"] == "t" or (deleted and mode == "tombstone"):
        return None
    row = dict(event["before" if deleted else "after"])
    if mode != "tombstone":
        row["__deleted"] = "true" if deleted else "false"
    return {**row, **{_field_name(name): _added_value(event, name) for name in added}}


def _field_name(name: str) -> str:
    return f"__{name.replace('.', '_')}"


def _added_value(event: Json, name: str) -> Json:
    value = event[name] if name in event else event["source"][name.removeprefix("source.")]
    # A stream's events have no snapshot: the envelope shows the field's default there.
    return None if name == "snapshot" and value == "false" else value


# --- Avro ----------------------------------------------------------------------------------------


def flat_avro(envelope: Json, added: Sequence[str], mode: Mode) -> Json:
    """Return the Avro schema of an envelope's flattened rows."""
    parts = _types(envelope)
    row, source = _not_null(parts["before"]), _types(_not_null(parts["source"]))
    extra = [] if mode == "tombstone" else [("__deleted", "string")]
    for name in added:
        kind = parts[name] if name in parts else source[name.removeprefix("source.")]
        extra.append((_field_name(name), _without_default(_not_null(kind))))
    fields = [{"name": name, "type": ["null", kind], "default": None} for name, kind in extra]
    return {**row, "namespace": envelope["namespace"], "fields": [*row["fields"], *fields]}


def _types(record: Json) -> dict[str, Json]:
    return {field["name"]: field["type"] for field in record["fields"]}


def _not_null(kind: Json) -> Json:
    return next(part for part in kind if part != "null") if isinstance(kind, list) else kind


def _without_default(kind: Json) -> Json:
    return {k: v for k, v in kind.items() if k != "connect.default"} if isinstance(kind, dict) else kind


def _schemas(
    topic: str, recorded: Recorded, added: Sequence[str], mode: Mode
) -> Iterator[tuple[str, int, Json]]:
    for schema_id, schema in recorded.schemas.items():
        if _is_envelope(schema):
            yield f"{topic}-value", schema_id + _VALUE_IDS, flat_avro(schema, added, mode)
        else:
            yield f"{topic}-key", schema_id, schema


def _is_envelope(schema: Json) -> bool:
    return bool(schema["name"] == "Envelope")


def _avro(recorded: Recorded, added: Sequence[str], mode: Mode) -> Iterator[Message]:
    parsed = {i: fastavro.parse_schema(without_logical_types(s)) for i, s in recorded.schemas.items()}
    flat = {i: flat_avro(s, added, mode) for i, s in recorded.schemas.items() if _is_envelope(s)}
    for message in recorded.messages:
        if message.value is None:
            yield message
            continue
        schema_id = int.from_bytes(message.value[1:5], "big")
        event = fastavro.schemaless_reader(BytesIO(message.value[5:]), parsed[schema_id])
        row = flatten(event, added, mode)
        if row is not None:
            value = framed(schema_id + _VALUE_IDS, flat[schema_id], row)
            yield attrs.evolve(message, value=value)


# --- JSON ----------------------------------------------------------------------------------------


def flat_connect(envelope: Json, added: Sequence[str], mode: Mode) -> Json:
    """Return the Connect schema of an envelope's flattened rows."""
    parts = {field["field"]: field for field in envelope["fields"]}
    source = {field["field"]: field for field in parts["source"]["fields"]}
    row = {k: v for k, v in parts["after"].items() if k != "field"}
    extra = [] if mode == "tombstone" else [{"type": "string", "optional": True, "field": "__deleted"}]
    for name in added:
        part = parts[name] if name in parts else source[name.removeprefix("source.")]
        plain = {k: v for k, v in part.items() if k != "default"}
        extra.append({**plain, "optional": True, "field": _field_name(name)})
    return {**row, "optional": False, "fields": [*row["fields"], *extra]}


def _json(recorded: Recorded, added: Sequence[str], mode: Mode) -> Iterator[Message]:
    for message in recorded.messages:
        if message.value is None:
            yield message
            continue
        value = json.loads(message.value)
        row = flatten(value["payload"], added, mode)
        if row is not None:
            flat = {"schema": flat_connect(value["schema"], added, mode), "payload": row}
            yield attrs.evolve(message, value=compact(flat))


def compact(node: Json) -> bytes:
    """Write JSON in Jackson's compact form."""
    return json.dumps(node, separators=(",", ":"), ensure_ascii=False).encode()
