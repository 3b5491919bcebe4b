"""A second look at the few records that were set aside: why, in words."""

import json
import struct
from io import BytesIO
from typing import Any

import fastavro
from pyspark.sql import DataFrame

from ingest.avro import PHYSICALS
from ingest.compile.payload import Payload
from ingest.compile.table import CompiledTable
from ingest.decode.embedded import frame_sql
from ingest.decode.events import UNREADABLE, explain_rejects
from ingest.decode.wire import HEADER_BYTES, header_literal, header_sql, written_id_sql
from ingest.names import SchemaId
from ingest.typemap.sparktype import literal

_MOST_SCHEMAS = 100
"""Unknown schemas that are looked up at the most: rubbish bytes name a new one in every record."""

_MOST_EXPLAINED = 20
"""Messages that are looked at on the driver: enough to see what is going on."""
_MOST_CHARS = 1000
_MOST_ID = 2**31 - 1
_ID_HEADERS = "array('__key_schema_id', '__value_schema_id')"
"""Where Confluent's HeaderSchemaIdSerializer puts the schema's GUID; the payload is bare Avro then."""
_NAMED = f"concat_ws(' and ', array_sort(array_intersect(transform(headers, one -> one.key), {_ID_HEADERS})))"


def unknown_ids(
    rejects: DataFrame, compiled: CompiledTable
) -> tuple[tuple[SchemaId, ...], tuple[SchemaId, ...]]:
    """Return the schema ids that rejected keys and values name and that the compiled table lacks."""
    return _unknown(rejects, "key", compiled.key), _unknown(rejects, "value", compiled.value)


def unknown_frames(rejects: DataFrame, column: str, payload: Payload) -> tuple[bytes, ...]:
    """Return, for each schema that rejected messages hold and that the side lacks, one message of its own.

    A message stands for its schema: an empty payload behind the frame.
    """
    known = ", ".join(literal(writer.frame.decode()) for writer in payload.writers) or "''"
    frames = rejects.selectExpr(f"{frame_sql(column)} as frame").where(f"frame not in ({known})")
    rows = frames.distinct().limit(_MOST_SCHEMAS).collect()
    return tuple(f"{row.frame}null}}".encode() for row in sorted(rows))


def explain(rejects: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Add to rejected messages `schema_id`, `reason` (one word of `Reason`) and `error` (what is wrong).

    `schema_id` is the one that an Avro value names; null where it names none.  The messages have headers.
    The first few that cannot be read with their own schema are looked at on the driver, for more words.
    """
    told = explain_rejects(rejects, compiled)
    closer = f"concat(error, {_closer_sql(told, compiled)})"
    in_header = f"{_NAMED} != '' and reason in ('unreadable', 'unknown-schema')"
    unclear = "'rejected, and readable when looked at again'"
    header = f"concat('value: a schema id in the header ', {_NAMED}, ' is not supported yet')"
    return told.selectExpr(
        *rejects.columns,
        f"if({in_header}, null, {_schema_id_sql(compiled)}) as schema_id",
        f"coalesce(if({in_header}, 'unreadable', reason), 'unreadable') as reason",
        f"coalesce(if({in_header}, {header}, {closer}), {unclear}) as error",
    )


def _schema_id_sql(compiled: CompiledTable) -> str:
    if compiled.table.format != "avro":
        return "cast(null as int)"
    framed = f"substring(value, 1, 1) = X'00' and length(value) >= {HEADER_BYTES}"
    number = f"cast({written_id_sql('value')} as bigint)"
    return f"if({framed} and {number} <= {_MOST_ID}, cast({number} as int), null)"


def _closer_sql(told: DataFrame, compiled: CompiledTable) -> str:
    """Return SQL for what a second decoder says of the first unreadable messages, by their place."""
    unreadable = told.where(f"contains(error, '{UNREADABLE}')")
    in_value = "startswith(error, 'value')"
    first = unreadable.selectExpr(
        "partition", "offset", f"{in_value} as in_value", f"if({in_value}, value, key) as payload"
    ).limit(_MOST_EXPLAINED)
    branches = [
        f"when partition = {row.partition} and offset = {row.offset} "
        f"then {literal(': ' + _look_closer(bytes(row.payload), compiled, in_value=row.in_value))}"
        for row in first.collect()
    ]
    return f"case {' '.join(branches)} else '' end" if branches else "''"


def _look_closer(payload: bytes, compiled: CompiledTable, *, in_value: bool) -> str:
    explain_bytes = _explain_avro if compiled.table.format == "avro" else _explain_json
    text = explain_bytes(payload, compiled.value if in_value else compiled.key)
    return text[:_MOST_CHARS]


def _unknown(rejects: DataFrame, column: str, payload: Payload) -> tuple[SchemaId, ...]:
    known = ", ".join(header_literal(writer.schema_id) for writer in payload.writers) or "X''"
    framed = f"substring({column}, 1, 1) = X'00' and length({column}) >= {HEADER_BYTES}"
    rows = (
        rejects.where(f"{framed} and {header_sql(column)} not in ({known})")
        .selectExpr(f"cast({written_id_sql(column)} as bigint) as id")
        .distinct()
        .limit(_MOST_SCHEMAS)
        .collect()
    )
    return tuple(SchemaId(row.id) for row in sorted(rows))


def _explain_avro(octets: bytes, payload: Payload) -> str:
    """Decode one payload on the driver, to hear what is wrong with it."""
    schema_id = struct.unpack(">I", octets[1:HEADER_BYTES])[0]
    wire = next((w.wire for w in payload.writers if w.schema_id == schema_id and w.wire), "")
    if not wire:
        return "its schema is no change event"
    schema = json.loads(wire)
    if _has_empty_items(schema):  # fastavro believes any count of elements that take no bytes
        return f"its bytes do not fit its schema ({len(octets)} bytes)"
    body = BytesIO(octets[HEADER_BYTES:])
    try:
        fastavro.schemaless_reader(body, fastavro.parse_schema(schema), None)
    except Exception as error:  # noqa: BLE001  any failure is the answer; fastavro raises many kinds
        return f"{type(error).__name__} {error}".strip() + f" ({len(octets)} bytes)"
    left = len(octets) - HEADER_BYTES - body.tell()
    return f"{left} bytes are left over" if left else "a value is beyond what its type holds"


def _has_empty_items(schema: Any) -> bool:
    """Return whether an array's elements may take no bytes; a name counts as if they did."""
    match schema:
        case {"type": "array", "items": items}:
            return _is_empty(items) or _has_empty_items(items)
        case {"type": "map", "values": inner}:
            return _has_empty_items(inner)
        case {"type": "record", "fields": fields}:
            return any(_has_empty_items(field["type"]) for field in fields)
        case list():
            return any(_has_empty_items(branch) for branch in schema)
        case _:
            return False


def _is_empty(schema: Any) -> bool:
    match schema:
        case {"type": "record", "fields": fields}:
            return all(_is_empty(field["type"]) for field in fields)
        case str():
            return schema not in PHYSICALS or schema == "null"
        case _:
            return False


def _explain_json(payload: bytes, _: Payload) -> str:
    try:
        json.loads(payload)
    except RecursionError:
        return f"it is nested too deep ({len(payload)} bytes)"
    except ValueError as error:
        return f"{error} ({len(payload)} bytes)"
    return "a field is of another type than its schema says, or beyond what the type holds"
