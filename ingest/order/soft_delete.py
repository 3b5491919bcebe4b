"""The rows of a table in which a deleted row stays, marked as such.

It keeps its last values, not the delete's, and gets the delete's position: an older change that comes late
loses against it.
"""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import DELETED, TRUNCATE
from ingest.compile.table import CompiledTable
from ingest.order.bookkeeping import bookkeeping, older_position_sql, position_of
from ingest.order.changes import OURS, Changes, Stored
from ingest.order.chosen import OUTSIDE, mark_outside
from ingest.order.columns import types_of
from ingest.order.counts import count_rows, older_sql
from ingest.order.rows import build_rows, changed_keys, count_marks, planned, stored_keys
from ingest.order.tombstones import deleted_change
from ingest.spark.java import select_expr
from ingest.spark.planned_queries import Plans
from ingest.sql.template import Sql, ident, join, sql
from ingest.sql.types import cast, null_of

_MARK = "mark"
"""The event that decides a row: its newest change, or a later truncate."""

counts = count_rows
marks = count_marks


def rows(changes: Changes, stored: Stored, plans: Plans | None) -> DataFrame:
    """Return the rows to write.  A deleted row also keeps the values of columns that the batch lacks."""
    if stored.rows is not None:
        changes = changes.with_columns_of(stored.rows)
    return mark_outside(planned(changes, partial(_build, stored=stored.rows), plans), changes.compiled)


def _build(changes: Changes, stored: DataFrame | None) -> DataFrame:
    derived = {column.name for column in changes.compiled.derived}
    columns = tuple(column for column in changes.evolution.columns if column.name not in derived)
    newest = _marked_changes(changes, stored)
    rows = build_rows(changes, newest, _bookkeeping(changes.compiled), columns, stored)
    if not changes.counts.truncates or stored is None:
        return rows
    return rows.unionByName(_swept(changes, stored, rows))


def _bookkeeping(compiled: CompiledTable, position: Sql | None = None) -> list[Sql]:
    """Return the `_cdc_` columns, `_cdc_deleted` included.  `position` replaces the event's."""
    event = ident(_MARK)
    is_deleted = sql("{op} = 'd'", op=event.field("op"))
    return [*bookkeeping(compiled, event, position), is_deleted.alias(DELETED)]


def _marked_changes(changes: Changes, stored: DataFrame | None) -> DataFrame:
    """Return the changes with the event that decides each row.  A truncate decides older changes.

    A truncate of an earlier batch leaves a change that comes late its own position.
    """
    compiled, truncated_at = changes.compiled, changes.counts.truncated_at
    newest = deleted_change(compiled) if changes.counts.bare_over_changes else F.col("newest")
    if truncated_at is None:
        return changed_keys(changes).withColumn(_MARK, newest)
    is_older = F.expr(str(older_sql(compiled, truncated_at)))
    if not changes.counts.truncates:
        late = F.when(is_older, newest.withField("op", F.lit("d"))).otherwise(newest)
        return changed_keys(changes).withColumn(_MARK, late)
    swept = F.col("swept").withField("sort_key", F.expr("greatest(swept.sort_key, newest.sort_key)"))
    both = changed_keys(changes).crossJoin(F.broadcast(_newest_truncate(changes)))
    marked = both.withColumn(_MARK, F.when(is_older, swept).otherwise(newest))
    return marked if stored is None else _without_newer_stored(marked, changes, stored)


def _without_newer_stored(marked: DataFrame, changes: Changes, stored: DataFrame) -> DataFrame:
    """Remove changes older than a truncate if the stored row is newer: `_swept` marks that row."""
    keys = stored_keys(changes)
    newer = sql(
        "{older} and s_position >= {position} and {same}",
        older=older_sql(changes.compiled, changes.counts.truncated_at),
        position=position_of(changes.compiled, sql("newest")),
        same=join(" and ", (sql("k_{n} = s_{n}", n=index) for index in range(len(keys)))),
    )
    positions = stored.selectExpr(*keys, "_cdc_position as s_position")
    return marked.join(positions, F.expr(str(newer)), "left_anti")


def _newest_truncate(changes: Changes) -> DataFrame:
    """Return the newest truncate, one row, as the delete of older rows."""
    newest = F.col("newest").withField("op", F.lit("d"))
    return changes.rows.where(F.col("kind") == TRUNCATE).select(newest.alias("swept"))


def _swept(changes: Changes, stored: DataFrame, rows: DataFrame) -> DataFrame:
    """Return the stored rows older than a truncate that no newer change replaces, marked as deleted."""
    compiled, keys = changes.compiled, [column.name for column in changes.evolution.keys]
    swept = stored.crossJoin(F.broadcast(_newest_truncate(changes).withColumnRenamed("swept", _MARK)))
    truncated_at = position_of(compiled, ident(_MARK))
    older = swept.where(str(older_position_sql(compiled, sql("_cdc_position"), truncated_at)))
    deleted = older.join(rows.select(*keys), keys, "left_anti")
    columns = [
        (cast(ident(name), spark_type) if name in stored.columns else null_of(spark_type)).alias(name)
        for name, spark_type in types_of(rows).items()
        if name in keys or not name.startswith(OURS)
    ]
    position = sql("greatest(_cdc_position, {truncated_at})", truncated_at=truncated_at)
    return select_expr(deleted, *map(str, (*_bookkeeping(compiled, position), *columns)))


def chosen(rows: DataFrame, _compiled: CompiledTable) -> DataFrame:
    """Mark a row outside the condition as deleted.

    It keeps its operation and all its values, which complete later changes.
    """
    if OUTSIDE not in rows.columns:
        return rows
    return rows.withColumn(DELETED, F.col(DELETED) | F.col(OUTSIDE)).drop(OUTSIDE)
