"""A schema, column by column, for people and for golden files."""

import attrs

from ingest import avro
from ingest.compile.envelope import classify, find_envelope
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.json_values import JsonValue
from ingest.typemap.column import Mapper
from ingest.typemap.lookup import rows_of


@attrs.frozen
class ColumnLine(JsonValue):
    """One column: its physical type, meaning and Spark type, or the `problem` if it has no Spark type."""

    json_keys = "name avro nullable semantic? spark? unit? loses? problem?"

    name: str
    avro: str
    nullable: bool
    semantic: str
    spark: str
    unit: str = ""
    loses: str = ""
    problem: str = ""


@attrs.frozen
class Description(JsonValue):
    """The kind of a schema, and its columns, from the row image or from a key."""

    json_keys = "kind dialect|null columns"

    kind: str
    dialect: str
    columns: tuple[ColumnLine, ...]


def describe(schema: avro.Schema, label: str) -> Description:
    """Describe a key or value schema, under the default policies."""
    kind = classify(schema)
    if kind == "data":
        envelope = find_envelope(schema, label)
        dialect = envelope.dialect
        if envelope.form == "document":
            line = ColumnLine(
                "doc", "string", nullable=True, semantic="io.debezium.data.Json", spark="string"
            )
            return Description("change events", envelope.dialect.name if envelope.dialect else "", (line,))
        mapper = Mapper(label, rows=rows_of(dialect)) if dialect else Mapper(label)
        lines = _lines(mapper, envelope.row, "$.after")
        return Description("change events", dialect.name if dialect else "", lines)
    if isinstance(schema, avro.Record):
        plain = "key or plain record" if kind == "foreign" else kind
        return Description(plain, "", _lines(Mapper(label), schema, "$"))
    raise SchemaError(label, "$", "is not a record, so it has no columns")


def _lines(mapper: Mapper, record: avro.Record, path: str) -> tuple[ColumnLine, ...]:
    return tuple(_line(mapper, field, f"{path}.{field.name}") for field in record.fields)


def _line(mapper: Mapper, field: avro.Field, path: str) -> ColumnLine:
    inner = avro.not_null(field.type)
    physical = inner.physical if isinstance(inner, avro.Scalar) else type(inner).__name__.lower()
    semantic = "" if isinstance(inner, avro.Union | avro.Nullable) else inner.notes.semantic
    nullable = isinstance(field.type, avro.Nullable)
    try:
        mapped = mapper.column(field.name, field.type, path)
    except (SchemaError, UnmappedTypeError) as error:
        return ColumnLine(field.name, physical, nullable, semantic, "", problem=str(error))
    return ColumnLine(field.name, physical, nullable, semantic, str(mapped.spark), mapped.unit, mapped.loses)
