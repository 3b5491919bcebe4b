"""Where a decoded event holds its parts, as SQL, for each form that events come in.

The decoded event is a struct at `EVENT`.  What a reader takes beside the row's columns is here too, so that a
field that is named in SQL is a field that was read.
"""

import re
from collections.abc import Mapping
from typing import Any

import attrs

from ingest.compile.envelope import Envelope
from ingest.dialects import Dialect
from ingest.typemap.column import reader_record

EVENT = "event.value"

CHANGE = "change"
TOMBSTONE = "tombstone"
EMPTY = "empty-message"
"""A message without key and value, which names no row."""
TRUNCATE = "truncate"

DELETED = "_cdc_deleted"
"""The column that marks deleted rows, in tables where they stay."""

_OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}


@attrs.frozen
class EventForm:
    """The SQL of an event's parts, and the reader's fields that it needs (Avro JSON by name)."""

    op: str
    source: Mapping[str, str] = attrs.field(hash=False)
    """SQL of each source field that the connector's position is made of; null where this form has none."""
    source_ms: str
    parts: Mapping[str, Any] = attrs.field(hash=False)
    row_field: str = "after"
    """The field that holds the row image; empty where the event itself is the row."""
    before_field: str = "before"
    """The field that holds the row before; empty where there is none."""
    unique_field: str = ""
    """The field that holds the key columns, where the value has one."""
    heartbeat: str = ""
    """SQL that is true for a heartbeat that looks like a change."""
    tombstone_deletes: bool = False
    """Whether a delete is told by a tombstone alone, without a position."""

    def at(self, field: str) -> str:
        """Return SQL of one of the event's own fields; of the event, for an empty name."""
        return f"{EVENT}.{field}" if field else EVENT

    def resolve(self, sql: str) -> str:
        """Put the SQL of the event's parts into a dialect's: `{op}` and `{s.<field>}`."""
        filled = re.sub(r"\{s\.(\w+)\}", lambda match: self.source[match[1]], sql)
        return filled.replace("{op}", self.op)


def form_of(envelope: Envelope, dialect: Dialect) -> EventForm:
    """Return the form of an envelope."""
    match envelope.form:
        case "debezium" | "document":
            return _debezium(envelope, dialect)
        case "flattened":
            return _flattened(envelope, dialect)
        case "cdl":
            return _cdl()
        case "record":
            return _record()


def _debezium(envelope: Envelope, dialect: Dialect) -> EventForm:
    source = reader_record("Source", {**dialect.source, "ts_ms": "long"})
    parts: dict[str, Any] = {"source": source, "op": "string"}
    if envelope.form == "document":
        parts |= {"after": "string", "before": "string", "updateDescription": _update_reader()}
    return EventForm(
        op=f"{EVENT}.op",
        source={field: f"{EVENT}.source.{field}" for field in dialect.source},
        source_ms=f"{EVENT}.source.ts_ms",
        parts=parts,
        unique_field="unique" if envelope.unique else "",
    )


def _update_reader() -> dict[str, Any]:
    cut = reader_record("Truncated", {"field": "string", "size": "int"})
    arrays = {"type": "array", "items": ["null", cut]}
    removed = {"type": "array", "items": ["null", "string"]}
    fields = {"updatedFields": "string", "removedFields": removed, "truncatedArrays": arrays}
    return reader_record("Update", fields)


def _flattened(envelope: Envelope, dialect: Dialect) -> EventForm:
    """Find in the root what `add.fields` took over from the envelope."""
    found = envelope.fields
    held = {field: found[field] for field in dialect.source if field in found}
    read = {held[field]: kind for field, kind in dialect.source.items() if field in held}
    flags = {found[name]: "string" for name in ("op", "deleted") if name in found}
    moment = found.get("ts_ms")
    return EventForm(
        op=_flat_op(found),
        source={f: f"{EVENT}.{held[f]}" if f in held else _NULL[kind] for f, kind in dialect.source.items()},
        source_ms=f"{EVENT}.{moment}" if moment else "cast(null as bigint)",
        parts={**read, **flags, **({moment: "long"} if moment else {})},
        row_field="",
        before_field="",
        tombstone_deletes="deleted" not in found,
    )


_NULL = {"string": "cast(null as string)", "long": "cast(null as bigint)", "int": "cast(null as int)"}


def _flat_op(found: Mapping[str, str]) -> str:
    op = f"{EVENT}.{found['op']}" if "op" in found else "'u'"
    return f"if({EVENT}.{found['deleted']} = 'true', 'd', {op})" if "deleted" in found else op


def _record() -> EventForm:
    """Return the form of a plain record: every one is created, and says no source's time."""
    nothing = "cast(null as bigint)"
    return EventForm(op="'c'", source={}, source_ms=nothing, parts={}, row_field="", before_field="")


def _cdl() -> EventForm:
    """Return the form of CDL's own JSON: operations as words, the LSN among the transaction's properties."""
    words = " ".join(f"when '{word}' then '{op}'" for word, op in _OPERATIONS.items())
    named = reader_record("Property", {"name": "string", "value": "long"})
    properties = {"type": "array", "items": ["null", named]}
    lsn = f"element_at(filter({EVENT}.transaction.properties, p -> lower(p.name) = 'lsn'), 1).value"
    empty = f"{EVENT}.unique is null and {EVENT}.data is null and {EVENT}.before is null"
    return EventForm(
        op=f"case upper({EVENT}.OPERATION) {words} else {EVENT}.OPERATION end",
        source={"lsn": lsn},
        source_ms=f"{EVENT}.TIMESTAMP",
        parts={
            "OPERATION": "string",
            "TIMESTAMP": "long",
            "TABLE_NAME": "string",
            "HEARTBEAT_IDENTIFIER": "string",
            # Read as text where no key is taken from them: only whether they are there counts then.
            "unique": "string",
            "before": "string",
            "transaction": reader_record("Transaction", {"properties": properties}),
        },
        row_field="data",
        unique_field="unique",
        heartbeat=(
            f"lower({EVENT}.TABLE_NAME) = 'cdc_heartbeat' "
            f"or ({EVENT}.HEARTBEAT_IDENTIFIER is not null and {empty})"
        ),
    )
