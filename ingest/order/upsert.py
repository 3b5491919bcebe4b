"""The rows of a table from which a delete removes its row."""

from functools import partial

from pyspark.sql import DataFrame

from ingest.compile.table import CompiledTable
from ingest.order.bookkeeping import bookkeeping, older_position_sql
from ingest.order.changes import OURS, Changes, Stored
from ingest.order.chosen import INCOMPLETE, OUTSIDE, mark_outside
from ingest.order.columns import nulls_of, select
from ingest.order.counts import count_rows, older_sql
from ingest.order.rows import build_rows, changed_keys, count_marks, lacking_columns, planned
from ingest.order.tombstones import deleted_change
from ingest.spark.planned_queries import Plans
from ingest.sql.template import ident, literal, sql

counts = count_rows
marks = count_marks


def rows(changes: Changes, stored: Stored, plans: Plans | None) -> DataFrame:
    """Return the rows to write.  A delete has its key, and nulls."""
    return mark_outside(planned(changes, partial(_build, stored=stored.rows), plans), changes.compiled)


def _build(changes: Changes, stored: DataFrame | None) -> DataFrame:
    compiled, end = changes.compiled, changes.counts.truncated_at
    newest = changed_keys(changes)
    if end is not None:
        newest = newest.where(str(sql("not ({older})", older=older_sql(compiled, end))))
    if changes.counts.bare_over_changes:
        newest = newest.withColumn("newest", deleted_change(compiled))
    columns = bookkeeping(compiled, ident("newest"))
    rows = build_rows(changes, newest, columns, lacking_columns(changes), stored)
    if not changes.counts.truncates or stored is None or end is None:
        return rows
    return rows.unionByName(_swept(changes, stored, rows, end))


def _swept(changes: Changes, stored: DataFrame, rows: DataFrame, truncated_at: str) -> DataFrame:
    """Return deletes of the stored rows older than a truncate that no newer change replaces."""
    keys = [column.name for column in changes.evolution.keys]
    is_older = older_position_sql(changes.compiled, sql("_cdc_position"), literal(truncated_at))
    older = stored.where(str(is_older)).select(*keys, "_cdc_position")
    columns = {
        **nulls_of(rows),
        **{name: ident(name) for name in keys},
        "_cdc_op": literal("d"),
        "_cdc_position": sql("greatest(_cdc_position, {end})", end=literal(truncated_at)),
    }
    return select(older.join(rows.select(*keys), keys, "left_anti"), columns)


def chosen(rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Let a row outside the condition delete a stored one, by key and position only."""
    if OUTSIDE not in rows.columns:
        return rows
    keys, outside = {name for name, _ in compiled.key_columns}, ident(OUTSIDE)
    columns = {
        name: ident(name)
        if name in keys or name.startswith(OURS)
        else sql("if({outside}, null, {c})", outside=outside, c=ident(name))
        for name in rows.columns
        if name not in (OUTSIDE, INCOMPLETE)
    }
    columns["_cdc_op"] = sql("if({outside}, 'd', _cdc_op)", outside=outside)
    return select(rows, columns)
