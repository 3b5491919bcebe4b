"""Folded changes become the rows to write: partial ones filled, truncated ones taken out."""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.document import DOCUMENT
from ingest.compile.event import CHANGE, DELETED
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.row_image import lacks_sql, patch_sql
from ingest.compile.table import CompiledTable
from ingest.order.counts import BatchCounts, older_position_sql
from ingest.order.soft_delete import bookkeeping, mark_swept, newest_truncate, surviving, with_others
from ingest.order.tombstones import stored_deletes, tombstone_rows
from ingest.typemap.sparktype import SparkType, quote

STORED = "stored"
"""The struct that holds a stored row's columns."""


def build_rows(
    folded: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
    stored: DataFrame | None = None,
) -> DataFrame:
    """Return the rows to write: the `_cdc_` columns, then key and row columns by their own names.

    The `_cdc_` columns come first, so that columns added later stay behind those from the start.
    A delete has its key, and nulls; where deleted rows stay, the values that the row had.  Keys are never
    null here; the alternative in `coalesce` only tells Spark so, and with it the table's schema.  `stored` is
    the table as it stands (see `stored_columns`), needed where `counts` look back at it.
    """
    evolution = with_others(compiled, evolution, stored)
    tombstones = counts.bare_over_changes > 0
    changes = surviving(folded, compiled, evolution, counts.truncated_at, stored, tombstones=tombstones)
    deletes = None
    if counts.bare_tombstones and stored is not None:
        deletes = stored_deletes(folded, stored, compiled, evolution)
        same = [F.col(f"k_{i}") == F.col(f"t_{i}") for i in range(len(evolution.keys))]
        changes = changes.join(deletes, same, "left_anti") if tombstones else changes
    kept = _kept(compiled, evolution)
    if (
        (counts.rows_needing_stored_values or counts.soft_deletes_needing_stored_values)
        and stored is not None
        and (kept or compiled.marks_deleted)
    ):
        changes = _with_stored(changes, stored, compiled, evolution, kept)
    rows = _filled(changes, compiled, kept, looks_back=STORED in changes.columns) if kept else changes
    settled = rows.selectExpr(
        *bookkeeping(compiled), *_keys(compiled, evolution), *_values(compiled, evolution, kept)
    )
    if deletes is not None:
        settled = settled.unionByName(tombstone_rows(deletes, settled, compiled))
    if counts.truncated_at is None or stored is None:
        return settled
    if compiled.marks_deleted:
        return settled.unionByName(mark_swept(stored, settled, compiled, evolution, newest_truncate(folded)))
    return settled.unionByName(_swept(stored, settled, compiled, evolution, counts.truncated_at))


def stored_columns(compiled: CompiledTable, evolution: Evolution) -> list[str]:
    """Return the columns that a look back at the table needs: keys, position, and what may be lacking."""
    keys = [column.name for column in evolution.keys]
    place = ("_cdc_position", "_cdc_partition", "_cdc_offset")
    return [*keys, *place, *(column.name for column in _kept(compiled, evolution))]


def _keys(compiled: CompiledTable, evolution: Evolution) -> list[str]:
    if compiled.keeps_all:
        return []  # its place, which is there already
    return [
        f"coalesce(cast(k_{index} as {column.spark}), {_some_value(column.spark)}) as {quote(column.name)}"
        for index, column in enumerate(evolution.keys)
    ]


def _values(compiled: CompiledTable, evolution: Evolution, kept: tuple[TargetColumn, ...]) -> list[str]:
    filled = {column.name for column in kept}
    document = f"filled.{DOCUMENT}" if DOCUMENT in filled else f"newest.row.{DOCUMENT}"
    derived = {one.name: one.sql.replace("{doc}", document) for one in compiled.derived}
    return [f"{derived.get(c.name) or _value(c, filled)} as {quote(c.name)}" for c in evolution.columns]


def _value(column: TargetColumn, filled: set[str]) -> str:
    return f"filled.{quote(column.name)}" if column.name in filled else column.value("newest.row")


# --- partial rows --------------------------------------------------------------------------------


def _kept(compiled: CompiledTable, evolution: Evolution) -> tuple[TargetColumn, ...]:
    """Return the columns whose value may be lacking, so that an older one is kept."""
    if not compiled.completes:
        return ()
    if compiled.marks_deleted:
        derived = {one.name for one in compiled.derived}
        return tuple(column for column in evolution.columns if column.name not in derived)
    return tuple(
        column
        for column in evolution.columns
        if any(lacks_sql(compiled, column_version, "row") for column_version in column.sources)
    )


def _filled(
    changes: DataFrame, compiled: CompiledTable, kept: tuple[TargetColumn, ...], *, looks_back: bool
) -> DataFrame:
    """Lay the later partial changes over the base, in order; the base is the stored row where it must be.

    Where deleted rows stay, so does whether the row is deleted: a change after that finds no older values.
    """
    marks = compiled.marks_deleted
    alive, gone = ({DELETED: "false"}, {DELETED: "e.op = 'd'"}) if marks else ({}, {})
    base = _struct({**{column.name: column.value("base.row") for column in kept}, **alive})
    if looks_back:
        base = f"if(base is null, {STORED}, {base})"
    patched = _struct({**{column.name: _patched(compiled, column) for column in kept}, **gone})
    over = f"aggregate(later, {base}, (old, e) -> {patched})"
    newest = _struct({**{column.name: column.value("newest.row") for column in kept}, **alive})
    return changes.withColumn("filled", F.expr(f"if(size(later) = 0, {newest}, {over})"))


def _patched(compiled: CompiledTable, column: TargetColumn) -> str:
    lacking = [lacks_sql(compiled, column_version, "e.row") for column_version in column.sources]
    condition = " or ".join(f"coalesce({one}, false)" for one in lacking if one)
    old = f"old.{quote(column.name)}"
    if not compiled.marks_deleted:
        return f"if({condition}, {patch_sql(compiled, 'e.row', old)}, {column.value('e.row')})"
    alive = f"if(old.{DELETED}, cast(null as {column.spark}), {old})"
    changed = f"if({condition or 'false'}, {patch_sql(compiled, 'e.row', alive)}, {column.value('e.row')})"
    return f"if(e.op = 'd', {old}, {changed})"


def _struct(values: dict[str, str]) -> str:
    fields = [f"'{name}', {sql}" for name, sql in values.items()]
    return f"named_struct({', '.join(fields)})"


def _with_stored(
    changes: DataFrame,
    stored: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    kept: tuple[TargetColumn, ...],
) -> DataFrame:
    """Join the stored rows of the keys that need them; their values become as wide as the batch's."""
    present = set(stored.columns)
    values = {
        column.name: f"cast({quote(column.name) if column.name in present else 'null'} as {column.spark})"
        for column in kept
    }
    if compiled.marks_deleted:
        values[DELETED] = f"coalesce({DELETED}, false)" if DELETED in present else "false"
    keys = [f"{quote(column.name)} as s_{index}" for index, column in enumerate(evolution.keys)]
    needed = changes.where("base is null and size(later) > 0").select(
        *(F.col(f"k_{index}").alias(f"n_{index}") for index in range(len(evolution.keys)))
    )
    held = stored.selectExpr(*keys, f"{_struct(values)} as {STORED}")
    few = held.join(F.broadcast(needed), _equal("s", "n", evolution), "left_semi")
    return changes.join(few, _equal("k", "s", evolution), "left")


def count_lost(folded: DataFrame, stored: DataFrame | None, evolution: Evolution, counts: BatchCounts) -> int:
    """Count the rows that lack values which the table does not hold either: they become null.

    A key change with an unchanged large value brings such rows: the value is the old key's.  What a row was
    before it was deleted does not count as held.
    """
    if not counts.rows_needing_stored_values or stored is None:
        return counts.rows_needing_stored_values
    if DELETED in stored.columns:
        stored = stored.where(f"not {DELETED}")
    needed = folded.where(f"kind = '{CHANGE}' and newest.op != 'd' and base is null and size(later) > 0")
    held = stored.selectExpr(*(f"{quote(column.name)} as s_{i}" for i, column in enumerate(evolution.keys)))
    alive = F.expr("not exists(later, e -> e.op = 'd')")
    return needed.join(held, _equal("k", "s", evolution) & alive, "left_anti").count()


def _equal(left: str, right: str, evolution: Evolution) -> Column:
    pairs = (F.col(f"{left}_{i}") == F.col(f"{right}_{i}") for i in range(len(evolution.keys)))
    return reduce(lambda one, other: one & other, pairs)


# --- truncated tables ----------------------------------------------------------------------------


def _swept(
    stored: DataFrame, settled: DataFrame, compiled: CompiledTable, evolution: Evolution, truncated_at: str
) -> DataFrame:
    """Return deletes of the stored rows that are older than a truncate and that no newer change replaces."""
    keys = [column.name for column in evolution.keys]
    is_older = older_position_sql(compiled, "_cdc_position", f"'{truncated_at}'")
    older = stored.where(is_older).select(*keys, "_cdc_position")
    gone = older.join(settled.select(*keys), keys, "left_anti")
    columns = {
        **{field.name: f"cast(null as {field.dataType.simpleString()})" for field in settled.schema},
        **{name: quote(name) for name in keys},
        "_cdc_op": "'d'",
        "_cdc_position": f"greatest(_cdc_position, '{truncated_at}')",
    }
    return gone.selectExpr(*(f"{sql} as {quote(name)}" for name, sql in columns.items()))


def _some_value(kind: SparkType) -> str:
    match str(kind):
        case "date" | "timestamp" | "timestamp_ntz" as moment:
            return f"{moment}'1970-01-01'"
        case "string" | "binary" as text:
            return f"cast('' as {text})"
        case number:
            return f"cast(0 as {number})"
