"""Truncates in a history: each ends the versions of all older rows, whenever these arrive.

The end of a row's versions by a truncate is a separate row, as after a delete, with the coordinates of the
truncate.  A row that was deleted before does not get such a row.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import COORDINATES, TRUNCATE
from ingest.compile.table import CompiledTable
from ingest.names import Partition, Truncate
from ingest.order.bookkeeping import older_position_sql, position_of
from ingest.order.columns import nulls_of, select
from ingest.sql.template import Sql, ident, join, literal, sql, struct

IS_NEW: Final = "_ingest_is_new"
"""Whether a row is a change of the batch, not a stored one."""
WAS: Final = "_ingest_was"
"""The interval and the completed values that a stored row has, in a struct."""
SWEPT: Final = "_ingest_swept"
"""Whether a row is the end by a truncate, to be kept only if a version ends there."""
_TRUNCATES: Final = "_ingest_truncates"


def find_truncates(latest: DataFrame, compiled: CompiledTable) -> tuple[Truncate, ...]:
    """Return the truncates of a batch, in their order."""
    position = position_of(compiled, sql("newest")).alias("position")
    fields = ("newest.partition", "newest.offset", "newest.source_ms")
    rows = latest.where(F.col("kind") == TRUNCATE).selectExpr(str(position), *fields).collect()
    return tuple(sorted(Truncate(r.position, Partition(r.partition), r.offset, r.source_ms) for r in rows))


def with_swept(
    rows: DataFrame, compiled: CompiledTable, earlier: Sequence[Truncate], new: Sequence[Truncate]
) -> DataFrame:
    """Add the ends by truncates: of new ones for all older rows, of earlier ones for rows that came late."""
    swept = _swept(rows, compiled, earlier, new)
    keys = [*(name for name, _ in compiled.key_columns), *COORDINATES]
    if SWEPT not in rows.columns:
        rows = rows.withColumn(SWEPT, F.lit(False))  # noqa: FBT003  a value
    if WAS not in rows.columns:
        return rows.unionByName(swept)
    stored = swept.drop(WAS, IS_NEW).join(rows.select(*keys, WAS, IS_NEW), keys, "left")
    stored = stored.withColumn(IS_NEW, F.coalesce(IS_NEW, F.lit(True)))  # noqa: FBT003  a value
    return rows.join(swept.select(*keys), keys, "left_anti").unionByName(stored)


def _swept(
    rows: DataFrame, compiled: CompiledTable, earlier: Sequence[Truncate], new: Sequence[Truncate]
) -> DataFrame:
    keys = [ident(name) for name, _ in compiled.key_columns]
    texts = [
        *(_struct(truncate, is_new=False) for truncate in earlier if truncate not in new),
        *(_struct(truncate, is_new=True) for truncate in new),
    ]
    each = sql("explode(array({all})) as t", all=join(", ", texts))
    pairs = rows.selectExpr(*map(str, keys), "_cdc_position", IS_NEW, str(each))
    older = pairs.where(str(older_position_sql(compiled, sql("_cdc_position"), sql("t.position"))))
    ends = older.groupBy(*map(str, keys), "t").agg(
        F.max("_cdc_position").alias("newest"), F.bool_or(IS_NEW).alias("is_late")
    )
    columns = {
        **nulls_of(rows),
        **{name: ident(name) for name, _ in compiled.key_columns},
        "_cdc_op": literal("d"),
        # The partition's own terms may put a truncate below rows that it ends: then it follows the newest.
        "_cdc_position": sql(
            "if(newest < t.position, t.position, concat(trim(trailing {dot} from newest), {dot}))",
            dot=literal("."),
        ),
        "_cdc_source_ts": sql("timestamp_millis(t.source_ms)"),
        "_cdc_partition": sql("t.partition"),
        "_cdc_offset": sql("t.offset"),
        IS_NEW: sql("true"),
        SWEPT: sql("true"),
    }
    return select(ends.where("is_late or t.is_new"), columns)


def _struct(truncate: Truncate, *, is_new: bool) -> Sql:
    source_ms = sql("null") if truncate.source_ms is None else sql("{ms}", ms=truncate.source_ms)
    return struct(
        (
            ("position", literal(truncate.position)),
            ("partition", sql("{n}", n=truncate.partition)),
            ("offset", sql("cast({n} as bigint)", n=truncate.offset)),
            ("source_ms", sql("cast({ms} as bigint)", ms=source_ms)),
            ("is_new", sql("true" if is_new else "false")),
        )
    )
