"""The owner of a message in a topic of several tables: its source block names it, before a row is decoded."""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame

from ingest import avro
from ingest.compile.column_versions import Image, reader_json, wire_json
from ingest.compile.envelope import classify, find_envelope
from ingest.compile.event import EMPTY, TOMBSTONE
from ingest.compile.payload import CompiledWriter, Payload, WriterSchema
from ingest.decode import confluent
from ingest.decode.wire import writer_sql
from ingest.errors import SchemaError
from ingest.tables import TableConfig, source_fields
from ingest.typemap.column import reader_record
from ingest.typemap.sql import Sql, join, literal, sql, struct

OWN: Final = "own"
OTHER: Final = "other-table"
"""A change of another table of the topic, which is counted and ignored."""
UNCLEAR: Final = "unclear"
"""A message without a readable source block, such as a heartbeat, or bytes that are not an event."""


def source_payload(table: TableConfig, values: Sequence[WriterSchema]) -> Payload:
    """Return how to read the source block of events, and nothing else of them."""
    fields = dict.fromkeys(source_fields(table), "string")
    reader = reader_json("Event", {"source": reader_record("Source", fields)})
    return Payload(tuple(map(_writer, values)), (), reader)


def _writer(value: WriterSchema) -> CompiledWriter:
    row = _row(value)
    wire = wire_json(value.schema, Image(value.schema_id, value.label, row, value.version), ()) if row else ""
    return CompiledWriter(value.schema_id, value.label, classify(value.schema), wire)


def has_source(value: WriterSchema) -> bool:
    """Return whether the events of a schema name their table."""
    return _row(value) is not None


def _row(value: WriterSchema) -> avro.Record | None:
    """Return the record of an event's row; None for a schema without a source block next to a row."""
    try:
        envelope = find_envelope(value.schema, value.label)
    except SchemaError:
        return None
    return envelope.row if envelope.form == "debezium" else None


def with_owner(messages: DataFrame, table: TableConfig, payload: Payload) -> DataFrame:
    """Add `owner`, a struct of `kind` and the `name` of the table; and `writer`, the number of the schema.

    A lambda names the decoded block, so that no optimizer decodes it again for each field.
    """
    routed = confluent.decode_payload(messages, payload, "value", "routed")
    columns = [*messages.columns, str(writer_sql(payload, "value").alias("writer"))]
    owner = sql("get(transform(array(routed), r -> {owner}), 0)", owner=_owner(table))
    return routed.selectExpr(*columns, str(owner.alias("owner")))


def _owner(table: TableConfig) -> Sql:
    source = sql("r.value.source")
    values = {source.field(field): text for field, text in source_fields(table).items()}
    equal = (sql("{c} = {text}", c=field, text=literal(text)) for field, text in values.items())
    kind = sql(
        "case when value is null then if(key is null, {empty}, {tombstone}) "
        "when not coalesce(r.whole, false) then {unclear} "
        "when coalesce({is_own}, false) then {own} else {other} end",
        empty=literal(EMPTY),
        tombstone=literal(TOMBSTONE),
        unclear=literal(UNCLEAR),
        is_own=join(" and ", equal),
        own=literal(OWN),
        other=literal(OTHER),
    )
    return struct((("kind", kind), ("name", sql("concat_ws('.', {fields})", fields=join(", ", values)))))
