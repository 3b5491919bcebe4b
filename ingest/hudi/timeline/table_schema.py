"""The columns of a table, from the Avro schema that Hudi keeps in each commit."""

from typing import Final

from ingest import avro
from ingest.errors import SchemaError

_PLAIN: Final = {"long": "bigint", "bytes": "binary"}
_LOGICAL: Final = {
    "date": "date",
    "timestamp-millis": "timestamp",
    "timestamp-micros": "timestamp",
    "local-timestamp-millis": "timestamp_ntz",
    "local-timestamp-micros": "timestamp_ntz",
}
_HUDI: Final = "_hoodie_"
"""The beginning of the names of Hudi's own columns."""


def columns_of(schema: str, where: str) -> dict[str, str]:
    """Return the Spark type of each column, without Hudi's own.  Raises SchemaError for other JSON."""
    record = avro.parse(schema, where=where)
    if not isinstance(record, avro.Record):
        raise SchemaError(where, "$", "is not a record, so it has no columns")
    return {field.name: _type(field.type) for field in record.fields if not field.name.startswith(_HUDI)}


def _type(schema: avro.Schema) -> str:
    """Name a type as Spark does."""
    match schema:
        case avro.Nullable(of=inner):
            return _type(inner)
        case avro.Array(items=items):
            return f"array<{_type(items)}>"
        case avro.MapOf(values=values):
            return f"map<string,{_type(values)}>"
        case avro.Record(fields=fields):
            return f"struct<{','.join(f'{field.name}:{_type(field.type)}' for field in fields)}>"
        case avro.Enum():
            return "string"
        case avro.Union():
            return "union"
        case avro.Scalar(notes=notes) | avro.Fixed(notes=notes) if notes.logical == "decimal":
            return f"decimal({notes.precision},{notes.scale or 0})"
        case avro.Fixed():
            return "binary"
        case avro.Scalar(physical=physical, notes=notes):
            return _LOGICAL.get(notes.logical, _PLAIN.get(physical, physical))
