"""Soft deletes: a deleted row stays, marked as such.

It keeps its last values, not those of the delete, and gets the position of the delete: an older change that
comes late loses against it.
"""

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import DELETED, TRUNCATE
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.table import CompiledTable
from ingest.order.bookkeeping import bookkeeping, older_position_sql, position_of
from ingest.order.counts import older_sql
from ingest.sql.template import Sql, ident, join, sql
from ingest.sql.types import SparkType, cast, null_of, parse_ddl

MARK = "mark"
"""The event that decides a row: its newest change, or a later truncate."""
_OURS = ("_cdc_", "_hoodie_")


def soft_bookkeeping(compiled: CompiledTable, position: Sql | None = None) -> list[Sql]:
    """Return the `_cdc_` columns, `_cdc_deleted` included; `position` replaces that of the event."""
    event = ident(MARK)
    is_deleted = sql("{op} = 'd'", op=event.field("op"))
    return [*bookkeeping(compiled, event, position), is_deleted.alias(DELETED)]


def is_deleted_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for a stored row that the source deleted; never null.

    Others that are marked as deleted are outside the condition of the table file: the source has them.
    """
    if compiled.table.rows.where is None:
        return sql("coalesce({c}, false)", c=ident(DELETED))
    return sql("_cdc_op = 'd'")


def with_stored_columns(evolution: Evolution, stored: DataFrame) -> Evolution:
    """Add the columns of the table that the batch lacks: a deleted row keeps their values too."""
    names = {column.name for column in (*evolution.keys, *evolution.columns)}
    missing = (
        TargetColumn(field.name, parse_ddl(field.dataType.simpleString()))
        for field in stored.schema
        if field.name not in names and not field.name.startswith(_OURS)
    )
    return attrs.evolve(evolution, columns=(*evolution.columns, *missing))


def marked_changes(
    changes: DataFrame, newest: Column, compiled: CompiledTable, truncated_at: str, truncate: DataFrame
) -> DataFrame:
    """Return the changes, each with the event that decides its row: a truncate decides older changes."""
    swept = F.col("swept").withField("sort_key", F.expr("greatest(swept.sort_key, newest.sort_key)"))
    is_older = F.expr(str(older_sql(compiled, truncated_at)))
    both = changes.crossJoin(F.broadcast(truncate))
    return both.withColumn(MARK, F.when(is_older, swept).otherwise(newest))


def without_newer_stored(
    changes: DataFrame, compiled: CompiledTable, evolution: Evolution, truncated_at: str, stored: DataFrame
) -> DataFrame:
    """Remove changes older than a truncate if the stored row is newer: `mark_swept` marks that row."""
    keys = [str(ident(column.name).alias(f"s_{index}")) for index, column in enumerate(evolution.keys)]
    positions = stored.selectExpr(*keys, "_cdc_position as s_position")
    newer = sql(
        "{older} and s_position >= {position} and {same}",
        older=older_sql(compiled, truncated_at),
        position=position_of(compiled, sql("newest")),
        same=join(" and ", (sql("k_{n} = s_{n}", n=index) for index in range(len(keys)))),
    )
    return changes.join(positions, F.expr(str(newer)), "left_anti")


def alive_value(old: Sql, spark_type: SparkType) -> Sql:
    """Return a field of `old`, or null if that row is deleted: a new row has no older values."""
    return sql(
        "if({deleted}, {null}, {old})",
        deleted=sql("old").field(DELETED),
        null=null_of(spark_type),
        old=old,
    )


def newest_truncate(latest: DataFrame) -> DataFrame:
    """Return the newest truncate, one row, as the delete of older rows."""
    newest = F.col("newest").withField("op", F.lit("d"))
    return latest.where(F.col("kind") == TRUNCATE).select(newest.alias("swept"))


def mark_swept(
    stored: DataFrame,
    rows: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    truncate: DataFrame,
) -> DataFrame:
    """Return the stored rows older than a truncate that no newer change replaces, marked as deleted."""
    keys = [column.name for column in evolution.keys]
    swept = stored.crossJoin(F.broadcast(truncate.withColumnRenamed("swept", MARK)))
    truncated_at = position_of(compiled, ident(MARK))
    older = swept.where(str(older_position_sql(compiled, sql("_cdc_position"), truncated_at)))
    deleted = older.join(rows.select(*keys), keys, "left_anti")
    types = {
        field.name: parse_ddl(field.dataType.simpleString())
        for field in rows.schema
        if field.name in keys or not field.name.startswith(_OURS)
    }
    columns = [
        (cast(ident(name), spark_type) if name in stored.columns else null_of(spark_type)).alias(name)
        for name, spark_type in types.items()
    ]
    position = sql("greatest(_cdc_position, {truncated_at})", truncated_at=truncated_at)
    return deleted.selectExpr(*map(str, soft_bookkeeping(compiled, position)), *map(str, columns))
