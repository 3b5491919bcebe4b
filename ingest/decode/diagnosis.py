"""A second look at the few records that were set aside: why, in words."""

import json
import struct
from io import BytesIO

import fastavro
from pyspark.sql import DataFrame

from ingest.compile.side import Side
from ingest.compile.sparktype import literal
from ingest.compile.table import CompiledTable
from ingest.decode.embedded import frame_sql
from ingest.decode.events import UNREADABLE, explain_rejects
from ingest.decode.wire import HEADER_BYTES, header_literal, header_sql, written_id_sql
from ingest.errors import DecodeError
from ingest.names import SchemaId

_MOST_SCHEMAS = 100
"""Unknown schemas that are looked up at the most: rubbish bytes name a new one in every record."""


def unknown_ids(
    rejects: DataFrame, compiled: CompiledTable
) -> tuple[tuple[SchemaId, ...], tuple[SchemaId, ...]]:
    """Return the schema ids that rejected keys and values name and that the compiled table lacks."""
    return _unknown(rejects, "key", compiled.key), _unknown(rejects, "value", compiled.value)


def unknown_frames(rejects: DataFrame, column: str, side: Side) -> tuple[bytes, ...]:
    """Return, for each schema that rejected messages hold and that the side lacks, one message of its own.

    A message stands for its schema: an empty payload behind the frame.
    """
    known = ", ".join(literal(writer.frame.decode()) for writer in side.writers) or "''"
    frames = rejects.selectExpr(f"{frame_sql(column)} as frame").where(f"frame not in ({known})")
    rows = frames.distinct().limit(_MOST_SCHEMAS).collect()
    return tuple(f"{row.frame}null}}".encode() for row in sorted(rows))


def first_reject(rejects: DataFrame, compiled: CompiledTable, count: int) -> DecodeError:
    """Return the error that names the first rejected record by its place, and says what is wrong with it."""
    first = rejects.orderBy("partition", "offset").limit(1)
    row = explain_rejects(first, compiled).collect()[0]
    reason = str(row.reason)
    if UNREADABLE in reason:
        column = reason.partition(":")[0]
        side = compiled.value if column == "value" else compiled.key
        explain = _explain_avro if compiled.table.format == "avro" else _explain_json
        reason = f"{reason}: {explain(bytes(row[column]), side)}"
    return DecodeError(compiled.table.topic, row.partition, row.offset, reason, count)


def _unknown(rejects: DataFrame, column: str, side: Side) -> tuple[SchemaId, ...]:
    known = ", ".join(header_literal(writer.schema_id) for writer in side.writers) or "X''"
    framed = f"substring({column}, 1, 1) = X'00' and length({column}) >= {HEADER_BYTES}"
    rows = (
        rejects.where(f"{framed} and {header_sql(column)} not in ({known})")
        .selectExpr(f"cast({written_id_sql(column)} as bigint) as id")
        .distinct()
        .limit(_MOST_SCHEMAS)
        .collect()
    )
    return tuple(SchemaId(row.id) for row in sorted(rows))


def _explain_avro(payload: bytes, side: Side) -> str:
    """Decode one payload on the driver, to hear what is wrong with it."""
    schema_id = struct.unpack(">I", payload[1:HEADER_BYTES])[0]
    wire = next((w.wire for w in side.writers if w.schema_id == schema_id and w.wire), "")
    if not wire:
        return "its schema is no change event"
    body = BytesIO(payload[HEADER_BYTES:])
    try:
        fastavro.schemaless_reader(body, fastavro.parse_schema(json.loads(wire)), None)
    except Exception as error:  # noqa: BLE001  any failure is the answer; fastavro raises many kinds
        return f"{type(error).__name__} {error}".strip() + f" ({len(payload)} bytes)"
    left = len(payload) - HEADER_BYTES - body.tell()
    return f"{left} bytes are left over" if left else "a value is beyond what its type holds"


def _explain_json(payload: bytes, _: Side) -> str:
    try:
        json.loads(payload)
    except ValueError as error:
        return f"{error} ({len(payload)} bytes)"
    return "a field is of another type than its schema says, or beyond what the type holds"
