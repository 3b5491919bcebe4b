"""A second look at the few rejected records, to word the reason."""

import json
import struct
from io import BytesIO
from typing import Any, Final

import fastavro
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.avro import PHYSICALS
from ingest.compile.payload import Payload
from ingest.compile.policy import ALL_ALLOWED, Refused
from ingest.compile.table import CompiledTable
from ingest.decode.checks import UNREADABLE
from ingest.decode.embedded import frame_sql
from ingest.decode.events import explain_rejects
from ingest.decode.framing import has_framings, unframe, unknown_frame_ids
from ingest.decode.wire import HEADER_BYTES, TODO, header_literal, header_sql, is_framed, written_id_sql
from ingest.names import SchemaId
from ingest.registry import FrameId
from ingest.sql.template import Sql, ident, join, literal, sql

_MOST_SCHEMAS = 100
_MOST_TEXTS = 1001
"""One more than a batch may hold: each round of a batch decodes all of it."""
"""Unknown schemas to look up at most: random bytes name a new one in every record."""

_MOST_EXPLAINED = 20
"""Messages to look at on the driver: enough to recognise the problem."""
_MOST_CHARS = 1000
_MOST_ID = 2**31 - 1
_ID_HEADERS = sql(
    "concat_ws(' and ', array_sort(array_intersect(transform(headers, h -> h.key), array("
    "'__key_schema_id', '__value_schema_id', 'apicurio.key.globalId', 'apicurio.value.globalId', "
    "'apicurio.key.contentId', 'apicurio.value.contentId'))))"
)
"""The headers that name a schema, before bare Avro, as the JVM's class FrameParser knows them."""
_RAW: Final = {"key": "raw_key", "value": "raw_value"}
"""The columns of the bytes as they came, next to those in Confluent's framing."""


def unknown_ids(
    rejects: DataFrame, compiled: CompiledTable
) -> tuple[tuple[SchemaId, ...], tuple[SchemaId, ...]]:
    """Return the schema ids that rejected keys and values name and that the compiled table lacks."""
    messages = unframe(rejects, compiled)
    return unknown_in(messages, "key", compiled.key), unknown_in(messages, "value", compiled.value)


def unknown_by_frame(
    rejects: DataFrame, compiled: CompiledTable
) -> tuple[tuple[FrameId, ...], tuple[FrameId, ...]]:
    """Return the unknown ids of framings that name schemas by other ids."""
    if not has_framings(compiled.table):
        return (), ()
    messages = unframe(rejects, compiled)
    return (
        unknown_frame_ids(messages, "key", _MOST_SCHEMAS),
        unknown_frame_ids(messages, "value", _MOST_SCHEMAS),
    )


def unknown_frames(rejects: DataFrame, column: str, payload: Payload) -> tuple[bytes, ...]:
    """Return one message of each unknown schema that rejected messages hold.

    A message represents its schema: an empty payload behind the frame.
    """
    known_frames = [writer.frame.decode() for writer in payload.writers]
    frames = rejects.selectExpr(str(frame_sql(column).alias("frame")))
    rows = frames.where(~F.col("frame").isin(known_frames))
    return tuple(
        f"{row.frame}null}}".encode() for row in sorted(rows.distinct().limit(_MOST_TEXTS).collect())
    )


def explain(rejects: DataFrame, compiled: CompiledTable, refused: Refused = ALL_ALLOWED) -> DataFrame:
    """Add to rejected messages `schema_id`, `reason` (one word of `Reason`) and `error` (a sentence).

    `schema_id` is the id that an Avro value names, or null if it names no id.  The messages have headers.
    For more detail, the driver looks at the first few that cannot be read with their own schema.
    """
    # Spark pushes a filter on the reason below the projections that parse and convert, and copies all of them
    # into it: 144,346 parsers for 75 columns (PushPredicateThroughNonJoin, Spark 3.5.7, SPARK-47672).  Cut
    # the plan here.
    messages = unframe(rejects.withColumns({raw: F.col(name) for name, raw in _RAW.items()}), compiled)
    explained = explain_rejects(messages, compiled, refused).localCheckpoint()
    columns = [str(ident(_RAW.get(name, name)).alias(name)) for name in rejects.columns]
    return explained.selectExpr(*columns, *map(str, _reason_columns(explained, compiled)))


def _reason_columns(explained: DataFrame, compiled: CompiledTable) -> list[Sql]:
    by_header = sql("({names} != '' and reason in ('unreadable', 'unknown-schema'))", names=_ID_HEADERS)
    in_header = sql("false") if has_framings(compiled.table) else by_header
    parts = {"in_header": in_header, "names": _ID_HEADERS}
    reason = sql("coalesce(if({in_header}, 'unreadable', reason), 'unreadable')", **parts)
    error = sql(
        "coalesce("
        "if({in_header}, concat('value: a schema id in the header ', {names}, {todo}), "
        "concat(error, {details})), "
        "'rejected, and readable when looked at again')",
        details=_details_sql(explained, compiled),
        todo=literal(f": {TODO}"),
        **parts,
    )
    schema_id = sql("if({in_header}, null, {id})", id=_schema_id_sql(compiled), **parts)
    return [schema_id.alias("schema_id"), reason.alias("reason"), error.alias("error")]


def _schema_id_sql(compiled: CompiledTable) -> Sql:
    if compiled.table.format != "avro":
        return sql("cast(null as int)")
    return sql(
        "if({framed} and cast({id} as bigint) <= {most}, cast(cast({id} as bigint) as int), null)",
        framed=is_framed("value"),
        id=written_id_sql("value"),
        most=_MOST_ID,
    )


def _details_sql(explained: DataFrame, compiled: CompiledTable) -> Sql:
    """Return the second decoder's words on the first unreadable messages, by their coordinates.

    They may quote a value, so a table with masks goes without them.
    """
    if compiled.feed.withholds_messages:
        return literal("")
    in_value = sql("startswith(error, 'value')")
    unreadable = explained.where(F.col("error").contains(UNREADABLE))
    first = unreadable.selectExpr(
        "partition",
        "offset",
        str(in_value.alias("in_value")),
        str(sql("if({in_value}, value, key) as payload", in_value=in_value)),
    ).limit(_MOST_EXPLAINED)
    branches = [
        sql(
            "when partition = {partition} and offset = {offset} then {text}",
            partition=row.partition,
            offset=row.offset,
            text=literal(f": {_look_closer(bytes(row.payload), compiled, in_value=row.in_value)}"),
        )
        for row in first.collect()
    ]
    return sql("case {branches} else '' end", branches=join(" ", branches)) if branches else literal("")


def _look_closer(payload: bytes, compiled: CompiledTable, *, in_value: bool) -> str:
    explain_bytes = _explain_avro if compiled.table.format == "avro" else _explain_json
    text = explain_bytes(payload, compiled.value if in_value else compiled.key)
    return text[:_MOST_CHARS]


def unknown_in(messages: DataFrame, column: str, payload: Payload) -> tuple[SchemaId, ...]:
    """Return the schema ids that messages name and that a payload lacks, the first ones of many."""
    headers = [header_literal(writer.schema_id) for writer in payload.writers] or [sql("X''")]
    unknown = sql(
        "{framed} and {header} not in ({headers})",
        framed=is_framed(column),
        header=header_sql(column),
        headers=join(", ", headers),
    )
    rows = (
        messages.where(str(unknown))
        .selectExpr(str(sql("cast({id} as bigint) as id", id=written_id_sql(column))))
        .distinct()
        .limit(_MOST_SCHEMAS)
        .collect()
    )
    return tuple(SchemaId(row.id) for row in sorted(rows))


def _explain_avro(octets: bytes, payload: Payload) -> str:
    """Decode one payload on the driver, for the decoder's own error."""
    schema_id = struct.unpack(">I", octets[1:HEADER_BYTES])[0]
    wire = next((w.wire for w in payload.writers if w.schema_id == schema_id and w.wire), "")
    if not wire:
        return "its schema is not that of a change event"
    schema = json.loads(wire)
    if _has_empty_items(schema):  # fastavro believes any count of elements that take no bytes
        return f"its bytes do not fit its schema ({len(octets)} bytes)"
    body = BytesIO(octets[HEADER_BYTES:])
    try:
        fastavro.schemaless_reader(body, fastavro.parse_schema(schema), None)
    except Exception as error:  # noqa: BLE001  fastavro raises many kinds, and each is an answer
        return f"{type(error).__name__} {error}".strip() + f" ({len(octets)} bytes)"
    unread = len(octets) - HEADER_BYTES - body.tell()
    return f"{unread} bytes are left over" if unread else "a value exceeds the range of its type"


def _has_empty_items(schema: Any) -> bool:
    """Return whether an array's elements may take no bytes. A name counts as if they did."""
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
    return "a field is of another type than its schema says, or exceeds the range of the type"
