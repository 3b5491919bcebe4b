"""Tombstones without their delete, in a history: each ends the version of its key.

Kafka's cleaner may keep only the tombstone of a delete, or the delete may be rejected.  A tombstone has no
source position and no source time: the end of the version has the position of its change, moved to the
tombstone's offset, and the time of the tombstone's message.  If the delete itself comes late, such an end is
not one any more, and is removed.
"""

from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, COORDINATES, TOMBSTONE
from ingest.compile.position import moved_sql
from ingest.compile.table import CompiledTable
from ingest.order.changes import Changes
from ingest.order.columns import nulls_of, select
from ingest.order.truncates import IS_NEW, SWEPT
from ingest.sql.template import ident, join, literal, sql

IS_TOMBSTONE: Final = "_ingest_is_tombstone"
"""Whether a row is the end by a tombstone, which the table marks by `MARK` in the column `_cdc_partial`."""
MARK: Final = "tombstone"
_BEFORE: Final = "before"
NEWEST: Final = "_ingest_newest"
"""At least the position with which the table has an end: its removal needs one that is not lower."""
_LAST: Final = "_ingest_last"


def bare_tombstones(latest: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the tombstones that do not follow a delete of their key in the batch."""
    keys = join(", ", (ident(f"k_{i}") for i in range(len(compiled.key_columns))))
    before = sql("lag(newest.op) over (partition by {keys}, own_partition order by own_offset)", keys=keys)
    messages = latest.where(F.col("kind").isin(CHANGE, TOMBSTONE)).where("k_0 is not null")
    return messages.selectExpr("*", str(before.alias(_BEFORE))).where(
        str(
            sql(
                "kind = {tombstone} and not ({before} <=> 'd')",
                tombstone=literal(TOMBSTONE),
                before=ident(_BEFORE),
            )
        )
    )


def with_tombstone_ends(rows: DataFrame, bare: DataFrame | None, changes: Changes) -> DataFrame:
    """Put each end by a tombstone behind the newest change before it.

    `rows` are all changes of their keys.  Stored ends move if a change has come late.  An end is kept only if
    a version ends there: if the last change before it is a delete, its place is behind the delete.
    """
    compiled, names = changes.compiled, [name for name, _ in changes.compiled.key_columns]
    end, offset = ident(IS_TOMBSTONE), sql("_cdc_offset")
    ends = rows.where(F.col(IS_TOMBSTONE))
    if bare is not None:
        ends = ends.unionByName(_new_ends(bare, rows, changes, names), allowMissingColumns=True)
    before = sql(
        "over (partition by {keys}, _cdc_partition order by _cdc_offset)", keys=join(", ", map(ident, names))
    )
    newest = sql("max(if({end}, null, _cdc_position)) {before}", end=end, before=before)
    last = sql("last(if({end}, null, struct(_cdc_op, _cdc_position)), true) {before}", end=end, before=before)
    both = rows.where(~F.col(IS_TOMBSTONE)).unionByName(ends)
    both = both.selectExpr("*", str(newest.alias(NEWEST)), str(last.alias(_LAST)))
    place = sql(
        "if({last}._cdc_op = 'd', {last}._cdc_position, {newest})", last=ident(_LAST), newest=ident(NEWEST)
    )
    columns = {
        "_cdc_position": sql(
            "if({end}, {place}, _cdc_position)", end=end, place=moved_sql(compiled.terms, place, offset)
        ),
        NEWEST: moved_sql(compiled.terms, ident(NEWEST), offset),
        SWEPT: end,
    }
    placed = both.where(str(sql("not {end} or {newest} is not null", end=end, newest=ident(NEWEST))))
    return placed.withColumns({name: F.expr(str(value)) for name, value in columns.items()}).drop(_LAST)


def _new_ends(bare: DataFrame, rows: DataFrame, changes: Changes, names: list[str]) -> DataFrame:
    """Return the tombstones of a batch that the table does not have, as rows without a position."""
    found = bare.selectExpr(
        *map(str, changes.typed_keys()),
        "own_partition as _cdc_partition",
        "own_offset as _cdc_offset",
        "source_ms",
    )
    found = found.join(rows.select(*names, *COORDINATES), [*names, *COORDINATES], "left_anti")
    columns = {
        **nulls_of(rows),
        **{name: ident(name) for name in (*names, *COORDINATES)},
        "_cdc_op": literal("d"),
        "_cdc_source_ts": sql("timestamp_millis(source_ms)"),
        IS_NEW: sql("true"),
        IS_TOMBSTONE: sql("true"),
    }
    return select(found, columns)
