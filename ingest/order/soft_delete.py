"""What is said of rows beside their values: the `_cdc_` columns, and deleted rows that stay, marked as such.

A deleted row that stays keeps the values that it had, whatever the delete brings of them, and the position of
the delete: an older change that comes late loses against it.
"""

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, DELETED, TRUNCATE
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.table import CompiledTable
from ingest.order.counts import older_position_sql, older_sql, position_of
from ingest.order.tombstones import deleted_change, has_change_sql
from ingest.typemap.sparktype import parse_ddl, quote

_MARK = "mark"
"""The event that a row's bookkeeping tells of: its newest, or a truncate after it."""
_OURS = ("_cdc_", "_hoodie_")


def bookkeeping(compiled: CompiledTable) -> list[str]:
    """Return the `_cdc_` columns, from the event that made the row what it is."""
    event = _MARK if compiled.marks_deleted else "newest"
    ids = {index: one for index, one in enumerate(compiled.schema_ids) if one > 0}
    branches = " ".join(f"when {index} then {one}" for index, one in ids.items())
    schema_id = f"case {event}.writer {branches} end" if branches else "cast(null as int)"
    return [
        f"{event}.op as _cdc_op",
        f"{position_of(compiled, f'{event}.place')} as _cdc_position",
        f"timestamp_millis({event}.source_ms) as _cdc_source_ts",
        f"{schema_id} as _cdc_schema_id",
        f"{event}.partition as _cdc_partition",
        f"{event}.offset as _cdc_offset",
        *([f"{event}.op = 'd' as {DELETED}"] if compiled.marks_deleted else []),
    ]


def with_others(compiled: CompiledTable, evolution: Evolution, stored: DataFrame | None) -> Evolution:
    """Add the table's columns that this batch does not bring, for the rows that stay as they are."""
    if not compiled.marks_deleted or stored is None:
        return evolution
    brought = {column.name for column in (*evolution.keys, *evolution.columns)}
    others = (
        TargetColumn(field.name, parse_ddl(field.dataType.simpleString()))
        for field in stored.schema
        if field.name not in brought and not field.name.startswith(_OURS)
    )
    return attrs.evolve(evolution, columns=(*evolution.columns, *others))


def surviving(
    folded: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    truncated_at: str | None,
    stored: DataFrame | None,
    *,
    tombstones: bool = False,
) -> DataFrame:
    """Return the changes to be written: those older than a truncate only as marked rows, if at all.

    With `tombstones` some of them are deleted by a bare tombstone.
    """
    changes = folded.where(f"kind = '{CHANGE}' and {has_change_sql(compiled)}")
    newest = deleted_change(compiled) if tombstones else F.col("newest")
    older = older_sql(compiled, truncated_at)
    if not compiled.marks_deleted:
        return changes.where(f"not ({older})").withColumn("newest", newest)
    if truncated_at is None:
        return changes.withColumn(_MARK, newest)
    marked = changes.crossJoin(F.broadcast(newest_truncate(folded)))
    swept = F.col("swept").withField("place", F.expr("greatest(swept.place, newest.place)"))
    marked = marked.withColumn(_MARK, F.when(F.expr(older), swept).otherwise(newest))
    if stored is None:
        return marked
    # A stored row that is newer is swept itself, with its own values.
    keys = {f"s_{index}": quote(column.name) for index, column in enumerate(evolution.keys)}
    held = stored.selectExpr(
        *(f"{sql} as {name}" for name, sql in keys.items()), "_cdc_position as s_position"
    )
    newer = f"{older} and s_position >= {position_of(compiled, 'newest.place')}"
    same = " and ".join(f"k_{index} = s_{index}" for index in range(len(keys)))
    return marked.join(held, F.expr(f"{newer} and {same}"), "left_anti")


def newest_truncate(folded: DataFrame) -> DataFrame:
    """Return the newest truncate, one row, as the delete of what is older."""
    newest = F.col("newest").withField("op", F.lit("d"))
    return folded.where(f"kind = '{TRUNCATE}'").select(newest.alias("swept"))


def mark_swept(
    stored: DataFrame,
    settled: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    truncate: DataFrame,
) -> DataFrame:
    """Return the stored rows that are older than a truncate and that no newer change replaces, as deleted."""
    keys = [column.name for column in evolution.keys]
    swept = stored.crossJoin(F.broadcast(truncate.withColumnRenamed("swept", _MARK)))
    truncated_at = position_of(compiled, f"{_MARK}.place")
    older = swept.where(older_position_sql(compiled, "_cdc_position", truncated_at))
    gone = older.join(settled.select(*keys), keys, "left_anti")
    held = set(stored.columns)
    own = [one for one in settled.schema if not one.name.startswith(_OURS)]
    values = {one.name: quote(one.name) if one.name in held else "null" for one in own}
    columns = [f"cast({values[f.name]} as {f.dataType.simpleString()}) as {quote(f.name)}" for f in own]
    position = f"greatest(_cdc_position, {truncated_at})"
    marks = [
        f"{position} as _cdc_position" if sql.endswith(" as _cdc_position") else sql
        for sql in bookkeeping(compiled)
    ]
    return gone.selectExpr(*marks, *columns)
