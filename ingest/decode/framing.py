"""Rewrite messages of every framing to Confluent's first framing, so that one decoder reads them all.

A message without a usable frame becomes bytes that no schema reads: 0xFF, a code, and a text (the JVM's class
UnusableFrame).  Tables that expect only `confluent` skip all of this.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.payload import Payload
from ingest.compile.table import CompiledTable
from ingest.decode.rejects import Check, Reason
from ingest.registry import FrameId, Side
from ingest.spark.java import java_column, jvm_of
from ingest.sql.template import Sql, binary, ident, literal, sql
from ingest.tables import CONFLUENT, TableConfig

_UNKNOWN: Final = binary(b"\xffu")
_UNREADABLE: Final = binary(b"\xfff")


def has_framings(table: TableConfig) -> bool:
    """Return whether a table reads other framings than Confluent's first one, which need the headers."""
    return table.framings != CONFLUENT


def unframe(messages: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Replace the framing of `key` and `value`. The messages of such a table have `headers`."""
    if not has_framings(compiled.table):
        return messages
    return messages.withColumns(
        {
            "key": _unframed(messages, compiled, "key", compiled.key),
            "value": _unframed(messages, compiled, "value", compiled.value),
        }
    )


def _unframed(messages: DataFrame, compiled: CompiledTable, side: Side, payload: Payload) -> Column:
    ids = {str(frame_id): writer.schema_id for writer in payload.writers for frame_id in writer.frame_ids}
    ids |= {
        str(frame_id): schema.schema_id
        for schema, _ in compiled.unmapped_of(side)
        for frame_id in schema.frame_ids
    }
    unframe_column = jvm_of(messages.sparkSession).io.hudicdc.ingest.framing.Unframe.column
    columns = (java_column(F.col(side)), java_column(F.col("headers")))
    return Column(
        unframe_column(*columns, side, list(compiled.table.framings), list(ids), list(ids.values()))
    )


def frame_checks(compiled: CompiledTable, column: Side) -> list[Check]:
    """Return the checks of messages without a usable frame. The decoded record's check implies them."""
    if not has_framings(compiled.table):
        return []
    return [
        _check(column, _UNREADABLE, "unreadable", ""),
        _check(column, _UNKNOWN, "unknown-schema", "unknown schema "),
    ]


def _check(column: Side, mark: Sql, reason: Reason, before: str) -> Check:
    error = sql("concat({before}, {text})", before=literal(f"{column}: {before}"), text=_text(column))
    return Check(sql("startswith({c}, {mark})", c=ident(column), mark=mark), reason, error, implied=True)


def _text(column: Side) -> Sql:
    return sql("decode(substring({c}, 3), 'UTF-8')", c=ident(column))


def unknown_frame_ids(unframed: DataFrame, column: Side, limit: int) -> tuple[FrameId, ...]:
    """Return the ids of unknown schemas that messages name, in framings that do not hold a schema's id."""
    rows = unframed.where(str(sql("startswith({c}, {mark})", c=ident(column), mark=_UNKNOWN)))
    texts = rows.selectExpr(str(_text(column).alias("text"))).distinct().limit(limit)
    return tuple(sorted(FrameId.parse(row.text) for row in texts.collect()))
