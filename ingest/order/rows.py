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
from ingest.typemap.sparktype import SparkType, cast, null_of, parse_ddl
from ingest.typemap.sql import Sql, any_true, ident, literal, sql, struct, word

STORED = "stored"
"""The struct that holds a stored row's columns."""
_NEWEST = sql("newest.row")
_FILLED = sql("filled")
_CHANGED = sql("e.row")


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
    columns = [*bookkeeping(compiled), *_keys(compiled, evolution), *_values(compiled, evolution, kept)]
    settled = rows.selectExpr(*map(str, columns))
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
    coordinates = ("_cdc_partition", "_cdc_offset")
    return [*keys, "_cdc_position", *coordinates, *(column.name for column in _kept(compiled, evolution))]


def _keys(compiled: CompiledTable, evolution: Evolution) -> list[Sql]:
    if compiled.keeps_all:
        return []  # the coordinates, which are among the `_cdc_` columns
    return [
        sql(
            "coalesce({key}, {never_used})",
            key=cast(ident(f"k_{index}"), column.spark),
            never_used=_some_value(column.spark),
        ).alias(column.name)
        for index, column in enumerate(evolution.keys)
    ]


def _values(compiled: CompiledTable, evolution: Evolution, kept: tuple[TargetColumn, ...]) -> list[Sql]:
    filled = {column.name for column in kept}
    document = (_FILLED if DOCUMENT in filled else _NEWEST).field(DOCUMENT)
    derived = {column.name: column.sql.of(doc=document) for column in compiled.derived}
    return [(derived.get(c.name) or _value(c, filled)).alias(c.name) for c in evolution.columns]


def _value(column: TargetColumn, filled: set[str]) -> Sql:
    return _FILLED.field(column.name) if column.name in filled else column.value(_NEWEST)


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
        if any(lacks_sql(compiled, column_version, sql("row")) for column_version in column.sources)
    )


def _filled(
    changes: DataFrame, compiled: CompiledTable, kept: tuple[TargetColumn, ...], *, looks_back: bool
) -> DataFrame:
    """Lay the later partial changes over the base, in order; the base is the stored row where it must be.

    Where deleted rows stay, so does whether the row is deleted: a change after that finds no older values.
    """
    alive, deleted = _marks(compiled, sql("false")), _marks(compiled, sql("e.op = 'd'"))
    base = struct([*((column.name, column.value(sql("base.row"))) for column in kept), *alive])
    if looks_back:
        base = sql("if(base is null, {stored}, {base})", stored=ident(STORED), base=base)
    filled = sql(
        "if(size(later) = 0, {newest}, aggregate(later, {base}, (old, e) -> {patched}))",
        newest=struct([*((column.name, column.value(_NEWEST)) for column in kept), *alive]),
        base=base,
        patched=struct([*((column.name, _patched(compiled, column)) for column in kept), *deleted]),
    )
    return changes.selectExpr("*", str(filled.alias("filled")))


def _marks(compiled: CompiledTable, is_deleted: Sql) -> list[tuple[str, Sql]]:
    return [(DELETED, is_deleted)] if compiled.marks_deleted else []


def _patched(compiled: CompiledTable, column: TargetColumn) -> Sql:
    lacking = [lacks_sql(compiled, column_version, _CHANGED) for column_version in column.sources]
    old = sql("old").field(column.name)
    if not compiled.marks_deleted:
        return _patch(compiled, column, lacking, old)
    alive = sql(
        "if({deleted}, {null}, {old})", deleted=sql("old").field(DELETED), null=null_of(column.spark), old=old
    )
    changed = _patch(compiled, column, lacking, alive)
    return sql("if(e.op = 'd', {old}, {changed})", old=old, changed=changed)


def _patch(compiled: CompiledTable, column: TargetColumn, lacking: list[Sql | None], old: Sql) -> Sql:
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
    kept: tuple[TargetColumn, ...],
) -> DataFrame:
    """Join the stored rows of the keys that need them; their values become as wide as the batch's."""
    present = set(stored.columns)
    values = [
        (
            column.name,
            cast(ident(column.name), column.spark) if column.name in present else null_of(column.spark),
        )
        for column in kept
    ]
    is_deleted = sql("coalesce({c}, false)", c=ident(DELETED)) if DELETED in present else sql("false")
    row = struct([*values, *_marks(compiled, is_deleted)])
    needed = changes.where("base is null and size(later) > 0").select(
        *(F.col(f"k_{index}").alias(f"n_{index}") for index in range(len(evolution.keys)))
    )
    held = stored.selectExpr(*_stored_keys(evolution), str(row.alias(STORED)))
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
        stored = stored.where(~F.col(DELETED))
    changes = folded.where(F.col("kind") == CHANGE)
    needed = changes.where("newest.op != 'd' and base is null and size(later) > 0")
    held = stored.selectExpr(*_stored_keys(evolution))
    alive = F.expr("not exists(later, e -> e.op = 'd')")
    return needed.join(held, _equal("k", "s", evolution) & alive, "left_anti").count()


def _stored_keys(evolution: Evolution) -> list[str]:
    return [str(ident(column.name).alias(f"s_{index}")) for index, column in enumerate(evolution.keys)]


def _equal(left: str, right: str, evolution: Evolution) -> Column:
    pairs = (F.col(f"{left}_{i}") == F.col(f"{right}_{i}") for i in range(len(evolution.keys)))
    return reduce(lambda one, other: one & other, pairs)


# --- truncated tables ----------------------------------------------------------------------------


def _swept(
    stored: DataFrame, settled: DataFrame, compiled: CompiledTable, evolution: Evolution, truncated_at: str
) -> DataFrame:
    """Return deletes of the stored rows that are older than a truncate and that no newer change replaces."""
    keys = [column.name for column in evolution.keys]
    is_older = older_position_sql(compiled, sql("_cdc_position"), literal(truncated_at))
    older = stored.where(str(is_older)).select(*keys, "_cdc_position")
    gone = older.join(settled.select(*keys), keys, "left_anti")
    columns = {
        **{field.name: null_of(parse_ddl(field.dataType.simpleString())) for field in settled.schema},
        **{name: ident(name) for name in keys},
        "_cdc_op": literal("d"),
        "_cdc_position": sql("greatest(_cdc_position, {end})", end=literal(truncated_at)),
    }
    return gone.selectExpr(*(str(value.alias(name)) for name, value in columns.items()))


def _some_value(spark_type: SparkType) -> Sql:
    match str(spark_type):
        case "date" | "timestamp" | "timestamp_ntz" as moment:
            return sql("{type}'1970-01-01'", type=word(moment))
        case "string" | "binary":
            return cast(literal(""), spark_type)
        case _:
            return cast(sql("0"), spark_type)
