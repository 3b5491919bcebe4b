"""The rows to write of tables without versions: the newest changes, with values completed."""

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.document import DOCUMENT
from ingest.compile.event import CHANGE, COORDINATES, DELETED
from ingest.compile.evolve import TargetColumn
from ingest.compile.row_image import patch_sql
from ingest.compile.table import CompiledTable
from ingest.order.changes import Changes, Marks, Stored
from ingest.order.chosen import computed_rows, count_outside, incomplete_sql
from ingest.order.columns import never_null
from ingest.order.tombstones import has_change_sql, stored_deletes, tombstone_rows
from ingest.order.version_values import lacking_sql
from ingest.spark.java import select_expr
from ingest.spark.planned_queries import Plans
from ingest.sql.template import Sql, ident, literal, sql, struct
from ingest.sql.types import cast, null_of

_STORED: Final = "stored"
"""The struct that holds a stored row's columns."""
_COMPLETED: Final = sql("completed")
"""The struct that holds a row's completed columns."""
_NEWEST: Final = sql("newest.row")
_CHANGED: Final = sql("e.row")


def planned(changes: Changes, build: Callable[[Changes], DataFrame], plans: Plans | None) -> DataFrame:
    """Build rows by the session's plans if they depend on a small batch only."""
    compiled, evolution, counts = changes.compiled, changes.evolution, changes.counts
    if plans is None or counts.looks_back or counts.truncated_at:
        return build(changes)
    inputs = (compiled, evolution.keys, evolution.columns, bool(counts.partials))
    name = f"rows of {compiled.table.name}"
    return plans.apply(name, inputs, lambda rows: build(attrs.evolve(changes, rows=rows)), changes.rows)


def changed_keys(changes: Changes) -> DataFrame:
    """Return the newest change of each key that has changes, not only tombstones."""
    has_change = has_change_sql(changes.compiled)
    return changes.rows.where(str(sql("kind = {change} and {has}", change=literal(CHANGE), has=has_change)))


def build_rows(
    changes: Changes,
    newest: DataFrame,
    bookkeeping: Sequence[Sql],
    completed: Sequence[TargetColumn] = (),
    stored: DataFrame | None = None,
) -> DataFrame:
    """Return the rows of the newest changes, and deletes of stored rows by bare tombstones.

    `completed` are the columns that a change may lack, so that an older value stays.
    """
    counts, deletes = changes.counts, None
    if counts.bare_tombstones and stored is not None:
        deletes = stored_deletes(changes, stored)
        if counts.bare_over_changes:
            newest = newest.join(deletes, _same_key("k", "t", changes), "left_anti")
    completed = completed if counts.partials else ()
    newest = _complete(newest, changes, completed, stored)
    columns = [*bookkeeping, *_keys(changes), *_values(changes, completed)]
    if changes.compiled.table.rows.where is not None and not changes.compiled.model.marks_deletes:
        is_joined = _STORED in newest.columns
        columns.append(incomplete_sql(changes.compiled, lacking_columns(changes), is_joined=is_joined))
    rows = computed_rows(select_expr(newest, *map(str, columns)), changes)
    return rows if deletes is None else rows.unionByName(tombstone_rows(deletes, rows, changes.compiled))


def _keys(changes: Changes) -> list[Sql]:
    """Return the key columns, marked as NOT NULL.  Coordinates are among the `_cdc_` columns."""
    return [
        never_null(cast(ident(f"k_{index}"), column.spark), column.spark).alias(column.name)
        for index, column in enumerate(changes.evolution.keys)
        if column.name not in COORDINATES
    ]


def _values(changes: Changes, completed: Sequence[TargetColumn]) -> list[Sql]:
    names = {column.name for column in completed}
    document = (_COMPLETED if DOCUMENT in names else _NEWEST).field(DOCUMENT)
    derived = {column.name: column.sql.of(doc=document) for column in changes.compiled.derived}
    columns = changes.evolution.columns
    return [(derived.get(c.name) or _value(c, names)).alias(c.name) for c in columns]


def _value(column: TargetColumn, completed: set[str]) -> Sql:
    return _COMPLETED.field(column.name) if column.name in completed else column.value(_NEWEST)


def count_marks(changes: Changes, rows: DataFrame, stored: Stored) -> Marks:
    """Count the rows outside the condition, and those with lost values."""
    return Marks(count_outside(rows), count_lost(changes, stored.rows))


# --- partial changes -----------------------------------------------------------------------------


def lacking_columns(changes: Changes) -> tuple[TargetColumn, ...]:
    """Return the columns that an update may leave out."""
    columns = changes.evolution.columns
    return tuple(c for c in columns if lacking_sql(changes.compiled, c, sql("row")))


def stored_columns(changes: Changes) -> list[str]:
    """Return the columns to read from the table: keys, position, coordinates, and values to complete rows."""
    keys, lacking = changes.evolution.keys, lacking_columns(changes)
    return [*(c.name for c in keys), "_cdc_position", *COORDINATES, *(c.name for c in lacking)]


def _complete(
    newest: DataFrame, changes: Changes, columns: Sequence[TargetColumn], stored: DataFrame | None
) -> DataFrame:
    """Add the struct `completed`: the newest change, or the partial changes in their order over an older row.

    The older row is the stored one if the batch lacks one.  If deleted rows stay, the mark is completed
    too: a change after a delete has no older values.
    """
    if not columns:
        return newest
    compiled, counts = changes.compiled, changes.counts
    alive, deleted = _mark(compiled, sql("false")), _mark(compiled, sql("e.op = 'd'"))
    base = struct([*((column.name, column.value(sql("base.row"))) for column in columns), *alive])
    if stored is not None and (
        counts.rows_needing_stored_values or counts.soft_deletes_needing_stored_values
    ):
        newest = _with_stored(newest, changes, columns, stored)
        base = sql("if(base is null, {stored}, {base})", stored=ident(_STORED), base=base)
    completed = sql(
        "if(later is null, {newest}, aggregate(later, {base}, (old, e) -> {patched}))",
        newest=struct([*((column.name, column.value(_NEWEST)) for column in columns), *alive]),
        base=base,
        patched=struct([*((column.name, _patched(compiled, column)) for column in columns), *deleted]),
    )
    return newest.selectExpr("*", str(completed.alias("completed")))


def _mark(compiled: CompiledTable, is_deleted: Sql) -> list[tuple[str, Sql]]:
    return [(DELETED, is_deleted)] if compiled.model.marks_deletes else []


def _patched(compiled: CompiledTable, column: TargetColumn) -> Sql:
    """Return a column of the row `old` after the change `e`.  A row after a delete has no older values."""
    old = sql("old").field(column.name)
    if not compiled.model.marks_deletes:
        return _patch(compiled, column, old)
    is_deleted, null = sql("old").field(DELETED), null_of(column.spark)
    alive = sql("if({deleted}, {null}, {old})", deleted=is_deleted, null=null, old=old)
    return sql("if(e.op = 'd', {old}, {changed})", old=old, changed=_patch(compiled, column, alive))


def _patch(compiled: CompiledTable, column: TargetColumn, old: Sql) -> Sql:
    return sql(
        "if({lacks}, {patched}, {value})",
        lacks=lacking_sql(compiled, column, _CHANGED) or sql("false"),
        patched=patch_sql(compiled, _CHANGED, old),
        value=column.value(_CHANGED),
    )


def _with_stored(
    newest: DataFrame, changes: Changes, columns: Sequence[TargetColumn], stored: DataFrame
) -> DataFrame:
    """Join the stored rows of the keys that need them, in the types of the batch."""
    present, numbers = set(stored.columns), range(len(changes.evolution.keys))
    values = [
        (c.name, cast(ident(c.name), c.spark) if c.name in present else null_of(c.spark)) for c in columns
    ]
    is_deleted = _is_deleted_sql(changes.compiled) if DELETED in present else sql("false")
    row = struct([*values, *_mark(changes.compiled, is_deleted)])
    needed = newest.where("base is null and later is not null")
    needed = needed.select(*(F.col(f"k_{index}").alias(f"n_{index}") for index in numbers))
    values_by_key = stored.selectExpr(*stored_keys(changes), str(row.alias(_STORED)))
    few = values_by_key.join(F.broadcast(needed), _same_key("s", "n", changes), "left_semi")
    return newest.join(few, _same_key("k", "s", changes), "left")


def count_lost(changes: Changes, stored: DataFrame | None) -> int:
    """Count the rows with missing values that the table lacks too: they become null.

    A key change with an unchanged large value brings such rows: the value belongs to the old key.  Values of
    a soft-deleted row do not count.
    """
    needing = changes.counts.rows_needing_stored_values
    if not needing or stored is None:
        return needing
    if DELETED in stored.columns:
        stored = stored.where(str(sql("not {deleted}", deleted=_is_deleted_sql(changes.compiled))))
    needed = changes.rows.where(F.col("kind") == CHANGE)
    needed = needed.where("newest.op != 'd' and base is null and later is not null")
    keys = stored.selectExpr(*stored_keys(changes))
    alive = F.expr("not exists(later, e -> e.op = 'd')")
    return needed.join(keys, _same_key("k", "s", changes) & alive, "left_anti").count()


def _is_deleted_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for a stored row that the source deleted, and never null.

    Others that are marked as deleted are outside the condition of the table file: the source has them.
    """
    if compiled.table.rows.where is None:
        return sql("coalesce({c}, false)", c=ident(DELETED))
    return sql("_cdc_op = 'd'")


def stored_keys(changes: Changes) -> list[str]:
    """Return the key columns of stored rows as `s_<i>`."""
    return [str(ident(c.name).alias(f"s_{index}")) for index, c in enumerate(changes.evolution.keys)]


def _same_key(left: str, right: str, changes: Changes) -> Column:
    """Return a condition that is true if two prefixes name columns with the same key."""
    pairs = (F.col(f"{left}_{i}") == F.col(f"{right}_{i}") for i in range(len(changes.evolution.keys)))
    return reduce(lambda both, pair: both & pair, pairs)
