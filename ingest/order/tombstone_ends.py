"""Tombstones without their delete, in a history: each ends the version of its key.

Kafka's cleaner may keep only the tombstone of a delete, or the delete may be rejected.  A tombstone has no
source position and no source time: the end of the version has the position of its change, moved to the
tombstone's offset, and the time of the tombstone's message.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, COORDINATES, TOMBSTONE
from ingest.compile.evolve import Evolution
from ingest.compile.position import moved_sql
from ingest.compile.table import CompiledTable
from ingest.order.truncates import IS_NEW
from ingest.typemap.sparktype import cast, null_of, parse_ddl
from ingest.typemap.sql import ident, join, literal, sql

_BEFORE = "before"


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


def tombstone_ends(
    rows: DataFrame, bare: DataFrame, compiled: CompiledTable, evolution: Evolution
) -> DataFrame:
    """Return the ends of versions by tombstones; `rows` are all changes of their keys.

    The change before a tombstone, by offset, must be there and not a delete.
    """
    names = [name for name, _ in compiled.key_columns]
    keys = [cast(ident(f"k_{i}"), c.spark).alias(c.name) for i, c in enumerate(evolution.keys)]
    tombstones = bare.selectExpr(
        *map(str, keys), "own_partition as _cdc_partition", "own_offset as _cdc_offset",
        "'tombstone' as _cdc_op", "cast(null as string) as _cdc_position", "source_ms as message_ms",
    )  # fmt: skip
    tombstones = tombstones.join(rows.select(*names, *COORDINATES), [*names, *COORDINATES], "left_anti")
    changes = rows.select(*tombstones.drop("message_ms").columns)
    order = sql(
        "over (partition by {keys}, _cdc_partition order by _cdc_offset rows between {frame})",
        keys=join(", ", map(ident, names)),
    )
    before = order.of(frame=sql("1 preceding and 1 preceding"))
    all_before = order.of(frame=sql("unbounded preceding and 1 preceding"))
    both = changes.unionByName(tombstones, allowMissingColumns=True).selectExpr(
        "*",
        str(sql("first(_cdc_op) {before}", before=before).alias("op_before")),
        str(sql("max(_cdc_position) {before}", before=all_before).alias("newest")),
    )
    bare_ones = both.where("_cdc_op = 'tombstone' and op_before not in ('d', 'tombstone')")
    columns = {
        **{field.name: null_of(parse_ddl(field.dataType.simpleString())) for field in rows.schema},
        **{name: ident(name) for name in (*names, *COORDINATES)},
        "_cdc_op": literal("d"),
        "_cdc_position": moved_sql(compiled.terms, sql("newest"), sql("_cdc_offset")),
        "_cdc_source_ts": sql("timestamp_millis(message_ms)"),
        IS_NEW: sql("true"),
    }
    return bare_ones.selectExpr(*(str(value.alias(name)) for name, value in columns.items()))
