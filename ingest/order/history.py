"""Every version of a row, with the source times and the positions for which it was valid.

Each change is a separate row, named by its key and its coordinates in the topic.  A batch takes its changes
together with the stored ones of the same keys, puts them into the order of positions, and computes the values
that a change lacked and the end of each version.  So the table is the same for any order of arrival.

A change makes a version unless it is a delete, leaves the condition of the table file, or has the values of
the version before it.  The row of such a change ends where it begins, so that half-open intervals hide it: it
stays, because a change that comes late may make a version of it, or end at it.
"""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, COORDINATES, PARTIAL, TOMBSTONE, TRUNCATE
from ingest.compile.evolve import TargetColumn
from ingest.compile.table import CompiledTable
from ingest.order.batch_counts import BatchCounts
from ingest.order.bookkeeping import bookkeeping
from ingest.order.changes import Changes, Marks, Stored
from ingest.order.chosen import OUTSIDE, computed_rows, outside_sql
from ingest.order.columns import select, types_of
from ingest.order.counts import count
from ingest.order.intervals import BOOKKEEPING, INTERVAL, comparable, with_intervals
from ingest.order.tombstone_ends import IS_TOMBSTONE, MARK, bare_tombstones, with_tombstone_ends
from ingest.order.truncates import IS_NEW, SWEPT, WAS, find_truncates, with_swept
from ingest.order.version_values import LOST, fill, filled_columns, partial_of, stored_value, value_of
from ingest.spark.java import select_expr
from ingest.spark.planned_queries import Plans
from ingest.sql.template import Sql, ident, join, literal, sql, struct
from ingest.sql.types import null_of, reshape

_OLD: Final = sql("false").alias(IS_NEW)
_FEW: Final = 200_000
"""Changes whose keys each task may hold in memory."""


def counts(
    latest: DataFrame, compiled: CompiledTable, plans: Plans | None, _truncated_at: str | None
) -> BatchCounts:
    """Count the changes, and what else ends versions: truncates, and tombstones without their delete.

    Each of the two takes a further job.  An older version that comes late counts.
    """
    batch = count(latest, compiled, plans)
    if TRUNCATE in batch.ignored and compiled.table.target.truncate == "apply":
        batch = attrs.evolve(batch, truncates=find_truncates(latest, compiled))
    if TOMBSTONE in batch.ignored and compiled.keyed_tombstones:
        batch = attrs.evolve(batch, bare_tombstones=bare_tombstones(latest, compiled).count())
    return batch


def rows(changes: Changes, stored: Stored, _plans: Plans | None) -> DataFrame:
    """Return all changes of a batch, and the stored ones with another version.

    The columns LOST and OUTSIDE mark changes of the batch.
    """
    compiled, batch = changes.compiled, changes.counts
    if stored.rows is not None:
        changes = changes.with_columns_of(stored.rows)
    columns = filled_columns(changes) if stored.rows is not None or batch.partials else ()
    rows = events = _events(changes)
    bare = bare_tombstones(changes.rows, compiled) if batch.bare_tombstones else None
    if stored.rows is not None:
        older = _stored_rows(stored.rows, changes, columns)
        if not batch.truncates:  # a truncate needs all stored changes
            older = _of_keys(older, changes)
        if stored.may_repeat:
            older = _without_repeated(older, events, changes)
        rows = events.unionByName(older, allowMissingColumns=True)
    if bare is not None or (stored.rows is not None and stored.has_tombstones):
        rows = with_tombstone_ends(rows, bare, changes)
    if stored.truncates or batch.truncates:
        rows = with_swept(rows, compiled, stored.truncates, batch.truncates)
    order = _order(compiled, rows)
    completed = _computed(fill(rows, compiled, columns, order), changes)
    marked = completed.selectExpr("*", str(outside_sql(compiled).alias(OUTSIDE)))
    return with_intervals(marked, changes.evolution, order)


def marks(changes: Changes, rows: DataFrame, _stored: Stored) -> Marks:
    """Count the marked changes of the batch, in one job."""
    if not changes.counts.partials and changes.compiled.table.rows.where is None:
        return Marks()
    ((outside, lost),) = rows.agg(F.count_if(OUTSIDE), F.count_if(LOST)).collect()
    return Marks(outside, lost)


def chosen(rows: DataFrame, _compiled: CompiledTable) -> DataFrame:
    """Remove the marks: `rows` has ended the versions of rows outside."""
    return rows.drop(LOST, OUTSIDE)


def _order(compiled: CompiledTable, rows: DataFrame) -> Sql:
    """Return the window of the changes of a key, in their order."""
    keys = join(", ", (ident(name) for name, _ in compiled.key_columns))
    last = sql(", {swept}", swept=ident(SWEPT)) if SWEPT in rows.columns else sql("")
    return sql("partition by {keys} order by _cdc_position, _cdc_partition{last}", keys=keys, last=last)


# --- changes -------------------------------------------------------------------------------------


def _events(changes: Changes) -> DataFrame:
    """Return the changes of a batch, without the values that they lack."""
    compiled, evolution = changes.compiled, changes.evolution
    computed = {*compiled.table.computed, *(column.name for column in compiled.derived)}
    values = [
        (null_of(c.spark) if c.name in computed else value_of(compiled, c)).alias(c.name)
        for c in evolution.columns
    ]
    partial = partial_of(compiled, evolution.columns)
    columns = [
        *bookkeeping(compiled, ident("newest")),
        partial,
        *changes.typed_keys(),
        *values,
        sql("true").alias(IS_NEW),
        sql("false").alias(IS_TOMBSTONE),
    ]
    return select_expr(changes.rows.where(F.col("kind") == CHANGE), *map(str, columns))


def _of_keys(stored: DataFrame, changes: Changes) -> DataFrame:
    """Return the stored changes of a batch's keys, without a shuffle of wide rows if the batch is small."""
    kinds = (CHANGE, TOMBSTONE) if changes.counts.bare_tombstones else (CHANGE,)
    keys = changes.rows.where(F.col("kind").isin(*kinds)).selectExpr(*map(str, changes.typed_keys()))
    if changes.counts.read < _FEW:
        return stored.join(F.broadcast(keys), keys.columns, "left_semi")
    return stored.join(keys.distinct(), keys.columns, "left_semi")


def _without_repeated(stored: DataFrame, events: DataFrame, changes: Changes) -> DataFrame:
    """Return the stored changes that a batch does not have again."""
    again = events.select(*(str(ident(column.name)) for column in changes.evolution.keys), *COORDINATES)
    few = F.broadcast(again) if changes.counts.read < _FEW else again
    return stored.join(few, again.columns, "left_anti")


def _stored_rows(stored: DataFrame, changes: Changes, filled: Sequence[TargetColumn]) -> DataFrame:
    """Return the stored changes in the form and the types of a batch, their intervals in the struct WAS."""
    types, evolution = types_of(stored), changes.evolution
    names = {column.name for column in filled}
    values = []
    for column in (*evolution.keys, *evolution.columns):
        value = null_of(column.spark)
        if column.name in types:
            value = reshape(ident(column.name), types[column.name], column.spark)
        is_filled = column.name in names
        values.append(
            (stored_value(changes.compiled, column, value) if is_filled else value).alias(column.name)
        )
    was = [column for column in filled if column.name in types]
    compared = [(c.name, comparable(reshape(ident(c.name), types[c.name], c.spark), c.spark)) for c in was]
    before = struct([*((name, ident(name)) for name in INTERVAL), *compared]).alias(WAS)
    by_tombstone = sql("({partial} <=> {mark})", partial=ident(PARTIAL), mark=literal(MARK))
    partial = sql("if({mark}, null, {partial})", mark=by_tombstone, partial=ident(PARTIAL)).alias(PARTIAL)
    marks = (_OLD, by_tombstone.alias(IS_TOMBSTONE), before)
    return select_expr(stored, *BOOKKEEPING, str(partial), *map(str, (*values, *marks)))


def _computed(rows: DataFrame, changes: Changes) -> DataFrame:
    """Add the columns that are cut out of a document, and those that the table file computes."""
    derived = {column.name: column.sql.of(doc=ident("doc")) for column in changes.compiled.derived}
    if derived:
        rows = select(rows, {name: derived.get(name, ident(name)) for name in rows.columns})
    return computed_rows(rows, changes)
