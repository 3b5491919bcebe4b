"""The decimals of a schema, for messages that hold them as numbers (`decimal.format=NUMERIC`, KIP-481)."""

import json

from ingest import avro
from ingest.compile.payload import CompiledWriter, Payload
from ingest.sql.template import Sql, literal, sql

Scales = int | dict[str, "Scales"] | list["Scales | None"]
"""A decimal's scale, the fields of a record, `[element]` of an array, or `[null, value]` of a map."""


def with_base64(body: Sql, payload: Payload, writer: CompiledWriter) -> Sql | None:
    """Return a writer's payload with decimals as base64, as JsonConverter writes them by default.

    Return None if the schema has no decimals.
    """
    scales = find_scales(writer.record) if writer.record else None
    if scales is None:
        return None
    by_image = {image: scales for image in payload.images if image}
    text = json.dumps(by_image or scales, separators=(",", ":"))
    return sql("ingest_numeric_decimals({body}, {scales})", body=body, scales=literal(text))


def find_scales(schema: avro.Schema) -> Scales | None:
    """Return the scales of all decimals in a schema, or None if it has no decimals."""
    match schema:
        case avro.Nullable(inner):
            return find_scales(inner)
        case avro.Record():
            fields = {field.name: find_scales(field.type) for field in schema.fields}
            return {name: scales for name, scales in fields.items() if scales is not None} or None
        case avro.Array(items):
            element = find_scales(items)
            return None if element is None else [element]
        case avro.MapOf(values):
            value = find_scales(values)
            return None if value is None else [None, value]
        case avro.Scalar("bytes", notes) if notes.logical == "decimal":
            return notes.scale
        case _:
            return None
