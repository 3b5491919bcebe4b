"""The owner of a message in a topic of several tables, read from its source block before a row is decoded."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import DataFrame

from ingest.compile.column_versions import Image, reader_json, wire_json
from ingest.compile.envelope import Envelope, classify, find_envelope
from ingest.compile.event import EMPTY, TOMBSTONE
from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.decode import confluent
from ingest.decode.wire import writer_sql
from ingest.errors import SchemaError
from ingest.sql.template import Sql, join, literal, sql, struct
from ingest.tables import SOURCE_FIELDS, full_name
from ingest.typemap.column import reader_record

_MOST_BYTES: Final = 1 << 20
"""The memory in bytes that a source block may take. The rest of an event is skipped."""
OWN: Final = "own"
OTHER: Final = "other-table"
"""A change of another table of the topic, which is counted and ignored."""
UNCLEAR: Final = "unclear"
"""A message without a readable source block, such as a heartbeat, or bytes that are not an event."""


def source_payload(values: Sequence[WriterSchema]) -> Payload:
    """Return how to read the names in the source block of events, and nothing else of them."""
    reader = reader_json("Event", {"source": reader_record("Source", dict.fromkeys(SOURCE_FIELDS, "string"))})
    return Payload(tuple(map(_writer, values)), (), reader)


def _writer(value: WriterSchema) -> CompiledWriter:
    envelope = _envelope(value)
    image = Image(value.schema_id, value.label, envelope.row, value.version) if envelope else None
    wire = wire_json(value.schema, image, ()) if image else ""
    return CompiledWriter(value.schema_id, value.label, classify(value.schema), wire)


def has_source(value: WriterSchema) -> bool:
    """Return whether the events of a schema name their table."""
    return _envelope(value) is not None


def source_name(source: Mapping[str, str | None], value: WriterSchema) -> str:
    """Return the name of the table that an event's source block names. `value` is the event's schema."""
    envelope = _envelope(value)
    return full_name(source, envelope.dialect.name if envelope and envelope.dialect else "")


def _envelope(value: WriterSchema) -> Envelope | None:
    """Return the parts of an event, or None for a schema without a source block next to a row."""
    try:
        envelope = find_envelope(value.schema, value.label)
    except SchemaError:
        return None
    return envelope if envelope.form == "debezium" else None


def with_owner(messages: DataFrame, payload: Payload, own: Mapping[str, str]) -> DataFrame:
    """Add `owner`, a struct of `kind` and `source`, and `writer`, the number of the schema.

    `own` are the source block's fields in the table's own events.  Without any, all events are of other
    tables.  A lambda names the decoded block, so that no optimizer decodes it again for each field.
    """
    routed = confluent.decode_payload(messages, payload, "value", "routed", _MOST_BYTES)
    columns = [*messages.columns, str(writer_sql(payload, "value").alias("writer"))]
    owner = sql("get(transform(array(routed), r -> {owner}), 0)", owner=_owner(own))
    return routed.selectExpr(*columns, str(owner.alias("owner")))


def _owner(own: Mapping[str, str]) -> Sql:
    source = sql("r.value.source")
    equal = [sql("{c} = {text}", c=source.field(field), text=literal(text)) for field, text in own.items()]
    kind = sql(
        "case when value is null then if(key is null, {empty}, {tombstone}) "
        "when not coalesce(r.whole, false) then {unclear} "
        "when coalesce({is_own}, false) then {own} else {other} end",
        empty=literal(EMPTY),
        tombstone=literal(TOMBSTONE),
        unclear=literal(UNCLEAR),
        is_own=join(" and ", equal or [sql("false")]),
        own=literal(OWN),
        other=literal(OTHER),
    )
    return struct((("kind", kind), ("source", source)))
