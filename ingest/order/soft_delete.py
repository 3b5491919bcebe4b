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
from ingest.typemap.sparktype import cast, null_of, parse_ddl
from ingest.typemap.sql import Sql, ident, join, sql

_MARK = "mark"
"""The event that a row's bookkeeping tells of: its newest, or a truncate after it."""
_OURS = ("_cdc_", "_hoodie_")


def bookkeeping(compiled: CompiledTable, position: Sql | None = None) -> list[Sql]:
    """Return the `_cdc_` columns, from the event that decided the row; `position` replaces the event's."""
    event = ident(_MARK if compiled.marks_deleted else "newest")
    return [
        event.field("op").alias("_cdc_op"),
        (position or position_of(compiled, event)).alias("_cdc_position"),
        sql("timestamp_millis({ms})", ms=event.field("source_ms")).alias("_cdc_source_ts"),
        _schema_id(compiled, event).alias("_cdc_schema_id"),
        event.field("partition").alias("_cdc_partition"),
        event.field("offset").alias("_cdc_offset"),
        *([sql("{op} = 'd'", op=event.field("op")).alias(DELETED)] if compiled.marks_deleted else []),
    ]


def _schema_id(compiled: CompiledTable, event: Sql) -> Sql:
    ids = [(index, schema_id) for index, schema_id in enumerate(compiled.schema_ids) if schema_id > 0]
    if not ids:
        return sql("cast(null as int)")
    branches = (sql("when {n} then {id}", n=index, id=schema_id) for index, schema_id in ids)
    return sql("case {writer} {branches} end", writer=event.field("writer"), branches=join(" ", branches))


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
    changes = folded.where(F.col("kind") == CHANGE).where(str(has_change_sql(compiled)))
    newest = deleted_change(compiled) if tombstones else F.col("newest")
    older = older_sql(compiled, truncated_at)
    if not compiled.marks_deleted:
        return changes.where(str(sql("not ({older})", older=older))).withColumn("newest", newest)
    if truncated_at is None:
        return changes.withColumn(_MARK, newest)
    marked = changes.crossJoin(F.broadcast(newest_truncate(folded)))
    swept = F.col("swept").withField("sort_key", F.expr("greatest(swept.sort_key, newest.sort_key)"))
    marked = marked.withColumn(_MARK, F.when(F.expr(str(older)), swept).otherwise(newest))
    if stored is None:
        return marked
    # A stored row that is newer is swept itself, with its own values.
    keys = [str(ident(column.name).alias(f"s_{index}")) for index, column in enumerate(evolution.keys)]
    positions = stored.selectExpr(*keys, "_cdc_position as s_position")
    newer = sql(
        "{older} and s_position >= {position} and {same}",
        older=older,
        position=position_of(compiled, sql("newest")),
        same=join(" and ", (sql("k_{n} = s_{n}", n=index) for index in range(len(keys)))),
    )
    return marked.join(positions, F.expr(str(newer)), "left_anti")


def newest_truncate(folded: DataFrame) -> DataFrame:
    """Return the newest truncate, one row, as the delete of what is older."""
    newest = F.col("newest").withField("op", F.lit("d"))
    return folded.where(F.col("kind") == TRUNCATE).select(newest.alias("swept"))


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
    truncated_at = position_of(compiled, ident(_MARK))
    older = swept.where(str(older_position_sql(compiled, sql("_cdc_position"), truncated_at)))
    deleted = older.join(settled.select(*keys), keys, "left_anti")
    types = {
        field.name: parse_ddl(field.dataType.simpleString())
        for field in settled.schema
        if not field.name.startswith(_OURS)
    }
    columns = [
        (cast(ident(name), spark_type) if name in stored.columns else null_of(spark_type)).alias(name)
        for name, spark_type in types.items()
    ]
    position = sql("greatest(_cdc_position, {truncated_at})", truncated_at=truncated_at)
    return deleted.selectExpr(*map(str, bookkeeping(compiled, position)), *map(str, columns))
