"""Schemas inside JSON messages, and schemas that a file declares for them."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Final

from ingest import avro
from ingest.avro import connect
from ingest.compile.payload import WriterSchema
from ingest.errors import SchemaError
from ingest.kafka.sample import RawRecord
from ingest.names import SchemaId

_BEFORE_PAYLOAD = ',"payload":'
_BEFORE_SCHEMA = '{"schema":'
_PARTS = {"schema", "payload"}
MOST_TEXTS: Final = 1_000
"""The texts of schemas that a batch may hold.  Each is recognised by its digest."""
_WITH_SCHEMA = f"{_BEFORE_SCHEMA}{{"


def written_in(
    texts: Iterable[bytes | None], label: str, fetched: Sequence[WriterSchema] = ()
) -> tuple[WriterSchema, ...]:
    """Return the schemas inside messages, in the order of the messages, without those already fetched.

    They get ids below zero: no registry has them.  Messages without a schema are skipped, and so is a schema
    that cannot be parsed, if there are others.  Raises `SchemaError`, also for more texts than `MOST_TEXTS`.
    """
    frames = {schema.frame for schema in fetched}
    schemas: list[WriterSchema] = []
    problems: list[SchemaError] = []
    for text in texts:
        frame = _frame(text)
        if frame is None or frame in frames:
            continue
        frames.add(frame)
        if len(frames) > MOST_TEXTS:
            raise _too_many(label)
        number = len(fetched) + len(schemas) + 1
        where = f"{label}, schema {number}"
        node = json.loads(frame[len(_BEFORE_SCHEMA) : -len(_BEFORE_PAYLOAD)])
        try:
            schema = connect.parse(node, where=where)
        except SchemaError as error:
            problems.append(error)
            continue
        schemas.append(WriterSchema(SchemaId(-number), where, schema, frame))
    if problems and not schemas and not fetched:
        raise problems[0]
    return tuple(schemas)


def _too_many(label: str) -> SchemaError:
    todo = (
        "Let the producer repeat one text, declare the schema (`schema` in the table file), or use a registry"
    )
    return SchemaError(label, "$", f"hold more than {MOST_TEXTS:,} texts of schemas", todo)


def _frame(text: bytes | None) -> bytes | None:
    """Return the bytes before the payload, as JsonConverter writes them, or None without a schema."""
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
    """Return the fields of keys without a schema, from the first key that is a JSON object."""
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
    """Read a schema from a file: Avro, Kafka Connect's JSON, or a message that holds its schema.

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
