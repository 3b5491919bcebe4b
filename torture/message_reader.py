"""Reads messages independently of the product: Avro by fastavro with the writer's schema, JSON by Python."""

import json
from io import BytesIO
from typing import Any, Final

import attrs
import fastavro

from tests.e2e.referee.shape import Shape
from torture.corpus import Corpus, Message, json_shape

HEADER: Final = 5
CDL_OPERATIONS: Final = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}


class Unreadable(Exception):  # noqa: N818  it is no failure
    """The independent decoder cannot read a payload."""


@attrs.frozen
class Side:
    """A decoded key or value, its shape, and the id of its schema."""

    content: Any
    shape: Shape
    schema_id: int


def read(corpus: Corpus, payload: bytes | None) -> Side:
    """Decode a payload; raises `Unreadable`."""
    if payload is None:
        raise Unreadable("null")
    return _read_avro(corpus, payload) if corpus.is_avro else _read_json(payload)


def _read_avro(corpus: Corpus, payload: bytes) -> Side:
    schema_id = int.from_bytes(payload[1:HEADER], "big")
    if payload[:1] != b"\0" or len(payload) < HEADER or schema_id not in corpus.schemas:
        raise Unreadable("header")
    body = BytesIO(payload[HEADER:])
    try:
        # What is no UTF-8 becomes what no text holds: it counts where the value is used.
        content = fastavro.schemaless_reader(
            body, corpus.schemas[schema_id], None, handle_unicode_errors="surrogateescape"
        )
    except (EOFError, IndexError, ValueError, OverflowError, TypeError, MemoryError, RecursionError) as error:
        raise Unreadable(f"{type(error).__name__} {error}") from error
    if body.tell() != len(payload) - HEADER:
        raise Unreadable(f"{len(payload) - HEADER - body.tell()} bytes are left over")
    return Side(content, corpus.shapes[schema_id], schema_id)


def _read_json(payload: bytes) -> Side:
    try:
        message = json.loads(payload.decode())
        shape = json_shape(message["schema"])
        content = message["payload"]
    except (ValueError, KeyError, TypeError, RecursionError, AttributeError) as error:
        raise Unreadable(f"{type(error).__name__} {error}") from error
    if not isinstance(content, dict):
        raise Unreadable("no object")
    return Side(content, shape, 0)


def is_readable(corpus: Corpus, message: Message) -> bool:
    """Return whether the independent decoder reads both key and value of a message."""
    try:
        return all(read(corpus, item) for item in message)
    except Unreadable:
        return False


def as_debezium(corpus: Corpus, event: Side) -> Side:
    """Give an event of CDL, or a flattened row, the names of Debezium's envelope."""
    if corpus.compiled.table.format == "cdl-json":
        return _of_cdl(event)
    return event if corpus.compiled.form.row_field else _of_flattened(event)


def _of_cdl(event: Side) -> Side:
    content, fields = event.content, event.shape.fields
    word = str(content.get("OPERATION"))
    named = {
        "op": CDL_OPERATIONS.get(word.upper(), word),
        "source": {"lsn": _cdl_lsn(content.get("transaction")), "ts_ms": content.get("TIMESTAMP")},
        "after": content.get("data"),
    }
    shape = attrs.evolve(event.shape, fields={**fields, "after": fields["data"]})
    return Side({**content, **named}, shape, event.schema_id)


def _cdl_lsn(transaction: Any) -> Any:
    match transaction:
        case {"properties": [*properties]}:
            named = (item["value"] for item in properties if str(item.get("name")).lower() == "lsn")
            return next(named, None)
        case _:
            return None


def _of_flattened(event: Side) -> Side:
    row = {name: value for name, value in event.content.items() if not name.startswith("__")}
    added = {name.removeprefix("__"): event.content[name] for name in event.content if name.startswith("__")}
    deleted, op = json.dumps(added.get("deleted")).strip('"'), added.get("op", "u")
    content = {
        "op": {"true": "d", "false": op, "null": op}.get(deleted, f"__deleted {deleted}"),
        "source": {**added, "ts_ms": added.get("source_ts_ms")},
        "after": row,
        "before": row,
    }
    shape = Shape("struct", fields={"after": event.shape, "before": event.shape})
    return Side(content, shape, event.schema_id)
