"""Every version of a row, with the source times and the positions for which it was valid.

Each change is a row of its own, named by its key and its coordinates in the topic.  A batch takes its changes
together with the stored ones of the same keys, puts them into the order of positions, and computes the values
that a change lacked and the end of each version.  So the table is the same for any order of arrival.

A change makes a version unless it is a delete, leaves the condition of the table file, or has the values of
the version before it.  The row of such a change ends where it begins, so that half-open intervals hide it: it
stays, for a change that comes late may make a version of it, or end at it.
"""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, COORDINATES, PARTIAL, TOMBSTONE
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.table import CompiledTable
from ingest.names import Truncate
from ingest.order.batch_counts import BatchCounts
from ingest.order.bookkeeping import bookkeeping
from ingest.order.chosen import OUTSIDE, computed_rows, mark_outside
from ingest.order.intervals import BOOKKEEPING, INTERVAL, comparable, with_intervals
from ingest.order.soft_delete import with_stored_columns
from ingest.order.tombstone_ends import IS_TOMBSTONE, MARK, bare_tombstones, with_tombstone_ends
from ingest.order.truncates import IS_NEW, SWEPT, WAS, with_swept
from ingest.order.version_values import LOST, fill, filled_columns, partial_of, stored_value, value_of
from ingest.sql.template import Sql, ident, join, literal, sql, struct
from ingest.sql.types import cast, null_of, parse_ddl, reshape

_OLD: Final = sql("false").alias(IS_NEW)
_FEW: Final = 200_000
"""Changes whose keys each task may hold in memory."""


def build_versions(
    latest: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
    *,
    stored: DataFrame | None = None,
    truncates: Sequence[Truncate] = (),
    may_repeat: bool = True,
    has_tombstones: bool = True,
) -> DataFrame:
    """Return the rows to write: all changes of a batch, and the stored ones with another version.

    `stored` is the current table, which has some of these changes only if `may_repeat`, and ends by
    tombstones only if `has_tombstones`; `truncates` are those before the batch.  The columns LOST and OUTSIDE
    mark changes of the batch; `without_marks` removes them.
    """
    if stored is not None:
        evolution = with_stored_columns(evolution, stored)
    columns = filled_columns(compiled, evolution) if stored is not None or counts.partials else ()
    rows = events = _events(latest, compiled, evolution)
    bare = bare_tombstones(latest, compiled) if counts.bare_tombstones else None
    if stored is not None:
        older = _stored_rows(stored, compiled, evolution, columns)
        keys = latest.where(F.col("kind").isin(CHANGE, *([TOMBSTONE] if counts.bare_tombstones else [])))
        if not counts.truncates:  # a truncate needs all stored changes
            older = _of_keys(older, keys.selectExpr(*map(str, _keys(evolution))), counts)
        if may_repeat:
            older = _without_repeated(older, events, evolution, counts)
        rows = events.unionByName(older, allowMissingColumns=True)
    if bare is not None or (stored is not None and has_tombstones):
        rows = with_tombstone_ends(rows, bare, compiled, evolution)
    if truncates or counts.truncates:
        rows = with_swept(rows, compiled, truncates, counts.truncates)
    completed = fill(rows, compiled, columns, _order(compiled, rows))
    chosen = mark_outside(_computed(completed, compiled, evolution), compiled)
    return with_intervals(chosen, evolution, _order(compiled, rows))


def without_marks(rows: DataFrame) -> DataFrame:
    """Return the rows to write without the columns LOST and OUTSIDE."""
    return rows.drop(LOST, OUTSIDE)


@attrs.frozen
class Marks:
    """The changes of a batch that the marks of its rows count."""

    outside: int = 0
    """Changes that the condition of the table file leaves out."""
    lost: int = 0
    """Changes with values that no version before has: they become null."""


def count_marks(rows: DataFrame, compiled: CompiledTable, counts: BatchCounts) -> Marks:
    """Count the marked changes, in a job of its own where there may be any."""
    if not counts.partials and compiled.table.rows.where is None:
        return Marks()
    ((outside, lost),) = rows.agg(F.count_if(OUTSIDE), F.count_if(LOST)).collect()
    return Marks(outside, lost)


def _order(compiled: CompiledTable, rows: DataFrame) -> Sql:
    """Return the window of the changes of a key, in their order."""
    keys = join(", ", (ident(name) for name, _ in compiled.key_columns))
    last = sql(", {swept}", swept=ident(SWEPT)) if SWEPT in rows.columns else sql("")
    return sql("partition by {keys} order by _cdc_position, _cdc_partition{last}", keys=keys, last=last)


# --- changes -------------------------------------------------------------------------------------


def _events(latest: DataFrame, compiled: CompiledTable, evolution: Evolution) -> DataFrame:
    """Return the changes of a batch, without the values that they lack."""
    computed = {*compiled.table.computed, *(column.name for column in compiled.derived)}
    values = [
        (null_of(c.spark) if c.name in computed else value_of(compiled, c)).alias(c.name)
        for c in evolution.columns
    ]
    partial = partial_of(compiled, evolution.columns)
    columns = [
        *bookkeeping(compiled, ident("newest")),
        partial,
        *_keys(evolution),
        *values,
        sql("true").alias(IS_NEW),
        sql("false").alias(IS_TOMBSTONE),
    ]
    return latest.where(F.col("kind") == CHANGE).selectExpr(*map(str, columns))


def _keys(evolution: Evolution) -> list[Sql]:
    return [cast(ident(f"k_{i}"), c.spark).alias(c.name) for i, c in enumerate(evolution.keys)]


def _of_keys(stored: DataFrame, keys: DataFrame, counts: BatchCounts) -> DataFrame:
    """Return the stored changes of the keys of a batch; without a shuffle of wide rows if these are few."""
    if counts.read < _FEW:
        return stored.join(F.broadcast(keys), keys.columns, "left_semi")
    return stored.join(keys.distinct(), keys.columns, "left_semi")


def _without_repeated(
    stored: DataFrame, events: DataFrame, evolution: Evolution, counts: BatchCounts
) -> DataFrame:
    """Return the stored changes that a batch does not have again."""
    again = events.select(*(str(ident(column.name)) for column in evolution.keys), *COORDINATES)
    return stored.join(F.broadcast(again) if counts.read < _FEW else again, again.columns, "left_anti")


def _stored_rows(
    stored: DataFrame, compiled: CompiledTable, evolution: Evolution, filled: Sequence[TargetColumn]
) -> DataFrame:
    """Return the stored changes as those of a batch, in its types, with their intervals in the struct WAS."""
    types = {field.name: parse_ddl(field.dataType.simpleString()) for field in stored.schema}
    names = {column.name for column in filled}
    values = []
    for column in (*evolution.keys, *evolution.columns):
        value = null_of(column.spark)
        if column.name in types:
            value = reshape(ident(column.name), types[column.name], column.spark)
        is_filled = column.name in names
        values.append((stored_value(compiled, column, value) if is_filled else value).alias(column.name))
    was = [column for column in filled if column.name in types]
    compared = [(c.name, comparable(reshape(ident(c.name), types[c.name], c.spark), c.spark)) for c in was]
    before = struct([*((name, ident(name)) for name in INTERVAL), *compared]).alias(WAS)
    by_tombstone = sql("({partial} <=> {mark})", partial=ident(PARTIAL), mark=literal(MARK))
    partial = sql("if({mark}, null, {partial})", mark=by_tombstone, partial=ident(PARTIAL)).alias(PARTIAL)
    marks = (_OLD, by_tombstone.alias(IS_TOMBSTONE), before)
    return stored.selectExpr(*BOOKKEEPING, str(partial), *map(str, (*values, *marks)))


def _computed(rows: DataFrame, compiled: CompiledTable, evolution: Evolution) -> DataFrame:
    """Add the columns that are cut out of a document, and those that the table file computes."""
    derived = {column.name: column.sql.of(doc=ident("doc")) for column in compiled.derived}
    if derived:
        columns = [derived.get(name, ident(name)).alias(name) for name in rows.columns]
        rows = rows.selectExpr(*map(str, columns))
    return computed_rows(rows, compiled, evolution)
