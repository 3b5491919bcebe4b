"""Schemas inside JSON messages, and schemas that a file declares for them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ingest import avro, connect
from ingest.compile.payload import WriterSchema
from ingest.errors import SchemaError
from ingest.kafka.sample import RawRecord
from ingest.names import SchemaId

_BEFORE_PAYLOAD = ',"payload":'
_BEFORE_SCHEMA = '{"schema":'
_PARTS = {"schema", "payload"}
_WITH_SCHEMA = f"{_BEFORE_SCHEMA}{{"


def written_in(
    texts: Iterable[bytes | None], label: str, taken: Sequence[WriterSchema] = ()
) -> tuple[WriterSchema, ...]:
    """Return the schemas that messages hold, in the order of the messages, without those already taken.

    They get ids below zero: no registry knows them.  A message without a schema is passed over; so is, where
    there are others, one with a schema that cannot be read.  Raises `SchemaError`.
    """
    frames = {one.frame for one in taken}
    found: list[WriterSchema] = []
    odd: list[SchemaError] = []
    for text in texts:
        frame = _frame(text)
        if frame is None or frame in frames:
            continue
        frames.add(frame)
        number = len(taken) + len(found) + 1
        where = f"{label}, schema {number}"
        node = json.loads(frame[len(_BEFORE_SCHEMA) : -len(_BEFORE_PAYLOAD)])
        try:
            schema = connect.parse(node, where=where)
        except SchemaError as error:
            odd.append(error)
            continue
        found.append(WriterSchema(SchemaId(-number), where, schema, frame))
    if odd and not found and not taken:
        raise odd[0]
    return tuple(found)


def _frame(text: bytes | None) -> bytes | None:
    """Return what stands before the payload, as JsonConverter writes it; None where there is no schema."""
    try:
        message = json.loads(text or b"")
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict) or not isinstance(message.get("schema"), dict):
        return None
    before, comma, _ = (text or b"").decode("utf-8", "replace").partition(_BEFORE_PAYLOAD)
    if before.startswith(_WITH_SCHEMA) and comma and before.endswith("}"):
        return f"{before}{_BEFORE_PAYLOAD}".encode()
    schema = json.dumps(message["schema"], separators=(",", ":"), ensure_ascii=False)
    return f"{_BEFORE_SCHEMA}{schema}{_BEFORE_PAYLOAD}".encode()


def bare_keys(records: Iterable[RawRecord]) -> tuple[str, ...]:
    """Return the fields of keys without a schema: those of the first one that is a JSON object."""
    for record in records:
        try:
            key = json.loads(record.key or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(key, dict) and set(key) == _PARTS:
            key = key["payload"]
        if isinstance(key, dict):
            return tuple(key)
    return ()


def read_schema(path: Path, references: Sequence[str] = ()) -> avro.Schema:
    """Read a schema from a file: Avro, or Kafka Connect's JSON; a message that holds its schema will do.

    `references` are the texts of named types that Avro takes from elsewhere.  Raises `SchemaError`.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8")
        node: Any = json.loads(text)
    except (OSError, ValueError, RecursionError) as error:
        raise SchemaError(where, "$", f"cannot be read as JSON: {error}") from error
    if isinstance(node, dict) and isinstance(node.get("schema"), dict):
        return connect.parse(node["schema"], where=where)
    if isinstance(node, dict) and node.get("type") == "struct":
        return connect.parse(node, where=where)
    return avro.parse(text, references, where=where)
