"""The places of a decoded event's parts, as SQL, for each form that events come in.

The decoded event is a struct at `EVENT`.  The fields to read besides the row's columns are here too, so that
SQL names only fields that were read.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ingest.compile.envelope import Envelope
from ingest.dialects import Dialect
from ingest.sql.template import Sql, join, literal, sql
from ingest.sql.types import Simple, null_of
from ingest.typemap.column import reader_record

EVENT = sql("event.value")

CHANGE = "change"
TOMBSTONE = "tombstone"
EMPTY = "empty-message"
"""A message without key and value, which names no row."""
TRUNCATE = "truncate"

DELETED = "_cdc_deleted"
"""The column that marks deleted rows, in tables that keep them."""

COORDINATES = ("_cdc_partition", "_cdc_offset")
"""The columns that name a change, in tables that keep each one."""
VALID_FROM, VALID_TO = "_cdc_valid_from", "_cdc_valid_to"
"""The source times between which a version of a row was valid.  The end is excluded, or null."""
END_POSITION = "_cdc_end_position"
"""The position of the change that ended a version, or the change's own position if it made no version."""
CURRENT = "_cdc_is_current"
"""The column that marks the versions without an end."""
PARTIAL = "_cdc_partial"
"""The values that a change lacked: the names of the columns, or the description of a document's update."""

_OPERATIONS = {"INSERT": "c", "UPDATE": "u", "DELETE": "d"}


@attrs.frozen
class EventForm:
    """The SQL of an event's parts, and the reader's fields that it needs (Avro JSON by name)."""

    op: Sql
    source: Mapping[str, Sql] = attrs.field(hash=False)
    """The source fields that the connector's position is made of, null if this form lacks one."""
    source_ms: Sql
    parts: Mapping[str, Any] = attrs.field(hash=False)
    row_field: str = "after"
    """The field that holds the row image, or empty if the event itself is the row."""
    before_field: str = "before"
    """The field that holds the row before, or empty if the form has no such field."""
    unique_field: str = ""
    """The field that holds the key columns, or empty if the value has no such field."""
    heartbeat: Sql | None = None
    """A condition that is true for a heartbeat that looks like a change."""
    tombstone_deletes: bool = False
    """Whether only a tombstone reports a delete, without a position."""

    @property
    def has_source_time(self) -> bool:
        """Whether the events say when they happened."""
        return self.source_ms != null_of(Simple("bigint"))

    def at(self, field: str) -> Sql:
        """Return one of the event's own fields, or the event for an empty name."""
        return EVENT.field(field) if field else EVENT

    def resolve(self, template: str) -> Sql:
        """Fill a dialect's template with the event's parts: `{op}` and `{s.<field>}`."""
        source = {f"s.{field}": value for field, value in self.source.items()}
        return sql(template, op=self.op, **source)


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
    block = EVENT.field("source")
    return EventForm(
        op=EVENT.field("op"),
        source={field: block.field(field) for field in dialect.source},
        source_ms=block.field("ts_ms"),
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
    """Find in the root the fields that `add.fields` copied from the envelope."""
    fields = envelope.fields
    source_types = {fields[name]: avro_type for name, avro_type in dialect.source.items() if name in fields}
    flags = {fields[name]: "string" for name in ("op", "deleted") if name in fields}
    source_ms = fields.get("ts_ms")
    return EventForm(
        op=_flat_op(fields),
        source={
            name: EVENT.field(fields[name]) if name in fields else null_of(_SPARK_TYPES[avro_type])
            for name, avro_type in dialect.source.items()
        },
        source_ms=EVENT.field(source_ms) if source_ms else null_of(Simple("bigint")),
        parts={**source_types, **flags, **({source_ms: "long"} if source_ms else {})},
        row_field="",
        before_field="",
        tombstone_deletes="deleted" not in fields,
    )


_SPARK_TYPES = {"string": Simple("string"), "long": Simple("bigint"), "int": Simple("int")}


def _flat_op(fields: Mapping[str, str]) -> Sql:
    op = EVENT.field(fields["op"]) if "op" in fields else literal("u")
    if "deleted" not in fields:
        return op
    deleted = EVENT.field(fields["deleted"])
    return sql(
        "case coalesce({deleted}, 'false') when 'true' then 'd' when 'false' then {op} "
        "else concat({name}, ' ', {deleted}) end",
        deleted=deleted,
        op=op,
        name=literal(fields["deleted"]),
    )


def _record() -> EventForm:
    """Return the form of a plain record: each creates a row and has no source time."""
    source_ms = null_of(Simple("bigint"))
    return EventForm(op=literal("c"), source={}, source_ms=source_ms, parts={}, row_field="", before_field="")


def _cdl() -> EventForm:
    """Return the form of CDL's own JSON: operations as words, the LSN among the transaction's properties."""
    words = (
        sql("when {word} then {op}", word=literal(name), op=literal(op)) for name, op in _OPERATIONS.items()
    )
    named = reader_record("Property", {"name": "string", "value": "long"})
    properties = {"type": "array", "items": ["null", named]}
    return EventForm(
        op=sql(
            "case upper({event}.OPERATION) {words} else {event}.OPERATION end",
            event=EVENT,
            words=join(" ", words),
        ),
        source={"lsn": sql(_CDL_LSN, event=EVENT)},
        source_ms=EVENT.field("TIMESTAMP"),
        parts={
            "OPERATION": "string",
            "TIMESTAMP": "long",
            "TABLE_NAME": "string",
            "HEARTBEAT_IDENTIFIER": "string",
            # Read as text if they give no key: then only their presence counts.
            "unique": "string",
            "before": "string",
            "transaction": reader_record("Transaction", {"properties": properties}),
        },
        row_field="data",
        unique_field="unique",
        heartbeat=sql(_CDL_HEARTBEAT, event=EVENT),
    )


_CDL_LSN = "element_at(filter({event}.transaction.properties, p -> lower(p.name) = 'lsn'), 1).value"
_CDL_HEARTBEAT = (
    "lower({event}.TABLE_NAME) = 'cdc_heartbeat' or ({event}.HEARTBEAT_IDENTIFIER is not null "
    "and {event}.unique is null and {event}.data is null and {event}.before is null)"
)
