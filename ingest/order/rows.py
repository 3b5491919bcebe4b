"""The rows to write: the newest changes, with values completed, without truncated rows."""

from functools import reduce
from typing import assert_never

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.document import DOCUMENT
from ingest.compile.event import CHANGE, COORDINATES, DELETED
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.row_image import lacks_sql, patch_sql
from ingest.compile.row_model import Append, Coordinates, History, SoftDelete, Upsert
from ingest.compile.table import CompiledTable
from ingest.order.batch_counts import BatchCounts
from ingest.order.bookkeeping import bookkeeping, older_position_sql
from ingest.order.chosen import computed_rows, incomplete_sql
from ingest.order.counts import older_sql
from ingest.order.soft_delete import (
    MARK,
    alive_value,
    is_deleted_sql,
    mark_swept,
    marked_changes,
    newest_truncate,
    soft_bookkeeping,
    with_stored_columns,
    without_newer_stored,
)
from ingest.order.tombstones import deleted_change, has_change_sql, stored_deletes, tombstone_rows
from ingest.sql.template import Sql, any_true, ident, literal, sql, struct, word
from ingest.sql.types import SparkType, cast, null_of, parse_ddl
from ingest.tables import SOURCE

STORED = "stored"
"""The struct that holds a stored row's columns."""
_NEWEST = sql("newest.row")
_COMPLETED = sql("completed")
_CHANGED = sql("e.row")


def build_rows(
    latest: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
    stored: DataFrame | None = None,
) -> DataFrame:
    """Return the rows to write: the `_cdc_` columns, then key and row columns by their own names.

    The `_cdc_` columns come first, so that the order of columns does not change when some are added.  A
    delete has its key, and nulls; a soft delete the values of its row.  Keys are never null; the `coalesce`
    only makes Spark mark the column NOT NULL.  `stored` is the current table (see `stored_columns`), needed
    if `counts` look back at it.
    """
    if stored is not None and compiled.model == SoftDelete():
        evolution = with_stored_columns(evolution, stored)
    changes = _current_changes(latest, compiled, evolution, counts, stored)
    deletes = None
    if counts.bare_tombstones and stored is not None:
        deletes = stored_deletes(latest, stored, compiled, evolution)
        if counts.bare_over_changes:
            same = [F.col(f"k_{i}") == F.col(f"t_{i}") for i in range(len(evolution.keys))]
            changes = changes.join(deletes, same, "left_anti")
    completed = _completed_columns(compiled, evolution) if counts.partials else ()
    changes = _complete(changes, compiled, evolution, counts, columns=completed, stored=stored)
    columns = [
        *_bookkeeping(compiled),
        *_keys(compiled, evolution),
        *_values(compiled, evolution, completed),
    ]
    if compiled.table.rows.where is not None:
        lacking = lacking_columns(compiled, evolution)
        columns.append(incomplete_sql(compiled, lacking, is_joined=STORED in changes.columns))
    rows = computed_rows(changes.selectExpr(*map(str, columns)), compiled, evolution)
    if deletes is not None:
        rows = rows.unionByName(tombstone_rows(deletes, rows, compiled))
    if counts.truncated_at is None or stored is None:
        return rows
    swept = _swept_rows(latest, stored, rows, compiled, evolution, truncated_at=counts.truncated_at)
    return rows.unionByName(swept)


def _current_changes(
    latest: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
    stored: DataFrame | None,
) -> DataFrame:
    """Return the changes to write, deletes by bare tombstones included; not those older than a truncate."""
    changes = latest.where(F.col("kind") == CHANGE).where(str(has_change_sql(compiled)))
    newest = deleted_change(compiled) if counts.bare_over_changes else F.col("newest")
    match compiled.model:
        case Append() | Upsert() | History():
            older = older_sql(compiled, counts.truncated_at)
            return changes.where(str(sql("not ({older})", older=older))).withColumn("newest", newest)
        case SoftDelete():
            if counts.truncated_at is None:
                return changes.withColumn(MARK, newest)
            end = counts.truncated_at
            marked = marked_changes(changes, newest, compiled, end, newest_truncate(latest))
            return (
                marked if stored is None else without_newer_stored(marked, compiled, evolution, end, stored)
            )
        case model:
            assert_never(model)


def _bookkeeping(compiled: CompiledTable) -> list[Sql]:
    match compiled.model:
        case Append() | Upsert() | History():
            return bookkeeping(compiled, ident("newest"))
        case SoftDelete():
            return soft_bookkeeping(compiled)
        case model:
            assert_never(model)


def stored_columns(compiled: CompiledTable, evolution: Evolution) -> list[str]:
    """Return the columns to read from the table: keys, position, coordinates, and values to complete rows."""
    keys = [column.name for column in evolution.keys]
    return [
        *keys,
        "_cdc_position",
        *COORDINATES,
        *(column.name for column in _completed_columns(compiled, evolution)),
    ]


def _keys(compiled: CompiledTable, evolution: Evolution) -> list[Sql]:
    is_bookkeeping = compiled.key_source == Coordinates()  # the coordinates are among the `_cdc_` columns
    return [
        never_null(cast(ident(f"k_{index}"), column.spark), column.spark).alias(column.name)
        for index, column in enumerate(evolution.keys)
        if column.name == SOURCE or not is_bookkeeping
    ]


def _values(compiled: CompiledTable, evolution: Evolution, completed: tuple[TargetColumn, ...]) -> list[Sql]:
    names = {column.name for column in completed}
    document = (_COMPLETED if DOCUMENT in names else _NEWEST).field(DOCUMENT)
    derived = {column.name: column.sql.of(doc=document) for column in compiled.derived}
    return [(derived.get(c.name) or _value(c, names)).alias(c.name) for c in evolution.columns]


def _value(column: TargetColumn, completed: set[str]) -> Sql:
    return _COMPLETED.field(column.name) if column.name in completed else column.value(_NEWEST)


# --- partial rows --------------------------------------------------------------------------------


def _completed_columns(compiled: CompiledTable, evolution: Evolution) -> tuple[TargetColumn, ...]:
    """Return the columns that a change may lack, so that an older value stays."""
    match compiled.model:
        case Append() | History():
            return ()
        case Upsert():
            return lacking_columns(compiled, evolution)
        case SoftDelete():
            derived = {column.name for column in compiled.derived}
            return tuple(column for column in evolution.columns if column.name not in derived)
        case model:
            assert_never(model)


def lacking_columns(compiled: CompiledTable, evolution: Evolution) -> tuple[TargetColumn, ...]:
    """Return the columns that an update may leave out."""
    return tuple(column for column in evolution.columns if _may_lack(compiled, column))


def _may_lack(compiled: CompiledTable, column: TargetColumn) -> bool:
    return any(lacks_sql(compiled, column_version, sql("row")) for column_version in column.sources)


def _complete(
    changes: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
    *,
    columns: tuple[TargetColumn, ...],
    stored: DataFrame | None,
) -> DataFrame:
    """Add the completed columns: those of the newest change, or of the partial changes over an older row."""
    needs_stored = counts.rows_needing_stored_values or counts.soft_deletes_needing_stored_values
    if needs_stored and stored is not None and (columns or compiled.model == SoftDelete()):
        changes = _with_stored(changes, stored, compiled, evolution, columns)
    return _with_completed(changes, compiled, columns) if columns else changes


def _with_completed(
    changes: DataFrame, compiled: CompiledTable, columns: tuple[TargetColumn, ...]
) -> DataFrame:
    """Apply the partial changes to the base, in order; the base is the stored row if the batch lacks one.

    In a soft-delete table the mark is completed too: a change after a delete has no older values.
    """
    alive, deleted = _marks(compiled, sql("false")), _marks(compiled, sql("e.op = 'd'"))
    base = struct([*((column.name, column.value(sql("base.row"))) for column in columns), *alive])
    if STORED in changes.columns:
        base = sql("if(base is null, {stored}, {base})", stored=ident(STORED), base=base)
    completed = sql(
        "if(later is null, {newest}, aggregate(later, {base}, (old, e) -> {patched}))",
        newest=struct([*((column.name, column.value(_NEWEST)) for column in columns), *alive]),
        base=base,
        patched=struct([*((column.name, _patched(compiled, column)) for column in columns), *deleted]),
    )
    return changes.selectExpr("*", str(completed.alias("completed")))


def _marks(compiled: CompiledTable, is_deleted: Sql) -> list[tuple[str, Sql]]:
    return [(DELETED, is_deleted)] if compiled.model == SoftDelete() else []


def _patched(compiled: CompiledTable, column: TargetColumn) -> Sql:
    old = sql("old").field(column.name)
    match compiled.model:
        case Append() | Upsert() | History():
            return _patch(compiled, column, old)
        case SoftDelete():
            changed = _patch(compiled, column, alive_value(old, column.spark))
            return sql("if(e.op = 'd', {old}, {changed})", old=old, changed=changed)
        case model:
            assert_never(model)


def _patch(compiled: CompiledTable, column: TargetColumn, old: Sql) -> Sql:
    lacking = [lacks_sql(compiled, column_version, _CHANGED) for column_version in column.sources]
    return sql(
        "if({lacks}, {patched}, {value})",
        lacks=any_true(filter(None, lacking)),
        patched=patch_sql(compiled, _CHANGED, old),
        value=column.value(_CHANGED),
    )


def _with_stored(
    changes: DataFrame,
    stored: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    columns: tuple[TargetColumn, ...],
) -> DataFrame:
    """Join the stored rows of the keys that need them, in the types of the batch."""
    present = set(stored.columns)
    values = [
        (
            column.name,
            cast(ident(column.name), column.spark) if column.name in present else null_of(column.spark),
        )
        for column in columns
    ]
    is_deleted = is_deleted_sql(compiled) if DELETED in present else sql("false")
    row = struct([*values, *_marks(compiled, is_deleted)])
    needed = changes.where("base is null and later is not null").select(
        *(F.col(f"k_{index}").alias(f"n_{index}") for index in range(len(evolution.keys)))
    )
    values_by_key = stored.selectExpr(*_stored_keys(evolution), str(row.alias(STORED)))
    few = values_by_key.join(F.broadcast(needed), _equal("s", "n", evolution), "left_semi")
    return changes.join(few, _equal("k", "s", evolution), "left")


def count_lost(
    latest: DataFrame,
    stored: DataFrame | None,
    compiled: CompiledTable,
    evolution: Evolution,
    counts: BatchCounts,
) -> int:
    """Count the rows with missing values that the table lacks too: they become null.

    A key change with an unchanged large value brings such rows: the value belongs to the old key.  Values of
    a soft-deleted row do not count.
    """
    if not counts.rows_needing_stored_values or stored is None:
        return counts.rows_needing_stored_values
    if DELETED in stored.columns:
        stored = stored.where(str(sql("not {deleted}", deleted=is_deleted_sql(compiled))))
    changes = latest.where(F.col("kind") == CHANGE)
    needed = changes.where("newest.op != 'd' and base is null and later is not null")
    keys = stored.selectExpr(*_stored_keys(evolution))
    alive = F.expr("not exists(later, e -> e.op = 'd')")
    return needed.join(keys, _equal("k", "s", evolution) & alive, "left_anti").count()


def _stored_keys(evolution: Evolution) -> list[str]:
    return [str(ident(column.name).alias(f"s_{index}")) for index, column in enumerate(evolution.keys)]


def _equal(left: str, right: str, evolution: Evolution) -> Column:
    pairs = (F.col(f"{left}_{i}") == F.col(f"{right}_{i}") for i in range(len(evolution.keys)))
    return reduce(lambda both, pair: both & pair, pairs)


# --- truncated tables ----------------------------------------------------------------------------


def _swept_rows(
    latest: DataFrame,
    stored: DataFrame,
    rows: DataFrame,
    compiled: CompiledTable,
    evolution: Evolution,
    *,
    truncated_at: str,
) -> DataFrame:
    """Return deletes of the stored rows older than a truncate that no newer change replaces."""
    match compiled.model:
        case Append() | Upsert() | History():
            return _swept(stored, rows, compiled, evolution, truncated_at)
        case SoftDelete():
            return mark_swept(stored, rows, compiled, evolution, newest_truncate(latest))
        case model:
            assert_never(model)


def _swept(
    stored: DataFrame, rows: DataFrame, compiled: CompiledTable, evolution: Evolution, truncated_at: str
) -> DataFrame:
    keys = [column.name for column in evolution.keys]
    is_older = older_position_sql(compiled, sql("_cdc_position"), literal(truncated_at))
    older = stored.where(str(is_older)).select(*keys, "_cdc_position")
    deleted = older.join(rows.select(*keys), keys, "left_anti")
    columns = {
        **{field.name: null_of(parse_ddl(field.dataType.simpleString())) for field in rows.schema},
        **{name: ident(name) for name in keys},
        "_cdc_op": literal("d"),
        "_cdc_position": sql("greatest(_cdc_position, {end})", end=literal(truncated_at)),
    }
    return deleted.selectExpr(*(str(value.alias(name)) for name, value in columns.items()))


def never_null(value: Sql, spark_type: SparkType) -> Sql:
    """Mark a value that is never null as NOT NULL: Spark does so for a `coalesce` with a constant."""
    return sql("coalesce({value}, {never_used})", value=value, never_used=_some_value(spark_type))


def _some_value(spark_type: SparkType) -> Sql:
    match str(spark_type):
        case "date" | "timestamp" | "timestamp_ntz" as type_name:
            return sql("{type}'1970-01-01'", type=word(type_name))
        case "string" | "binary":
            return cast(literal(""), spark_type)
        case _:
            return cast(sql("0"), spark_type)
