"""Tombstones without their delete.

A connector sends a delete and then a tombstone, so that Kafka's cleaner drops the key's records.  The cleaner
may keep only the tombstone.  A *bare* tombstone is the last message of its key, without a delete directly
before it.  It deletes the row that came from an earlier offset of its partition, or from no message at all
(`ingest.adopt`).  It has no source position: its delete gets the position of the deleted row, moved to the
tombstone's offset, so that older changes lose against it and newer ones win.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, DELETED, TOMBSTONE
from ingest.compile.position import moved_sql
from ingest.compile.table import CompiledTable
from ingest.order.bookkeeping import position_of
from ingest.order.changes import OURS, Changes
from ingest.order.columns import select, types_of
from ingest.sql.template import Sql, ident, join, literal, sql
from ingest.sql.types import cast, null_of


def tombstone_counters(compiled: CompiledTable) -> dict[str, tuple[Sql, str]]:
    """Return each counter of a key's messages, and how it is counted.

    `last_change` is twice the highest offset of a change, plus one if that is a delete.
    """
    if not compiled.merges_tombstones:
        return {}
    tombstone, change = literal(TOMBSTONE), literal(CHANGE)
    return {
        "tombstones": (sql("if(op = {tombstone}, 1L, 0L)", tombstone=tombstone), "SUM"),
        "last_tombstone": (sql("if(op = {tombstone}, offset, null)", tombstone=tombstone), "MAX"),
        "last_change": (sql("if(kind = {change}, offset * 2 + int(op = 'd'), null)", change=change), "MAX"),
        "partitions": (sql("shiftleft(1L, partition % 62)"), "OR"),
    }


def bare_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for a key with a bare tombstone as last message, and never null."""
    if not compiled.merges_tombstones:
        return sql("false")
    return sql(
        "(kind = {change} and tombstones > 0 and bit_count(partitions) = 1 "
        "and coalesce(last_tombstone * 2 > last_change and last_change % 2 = 0, true))",
        change=literal(CHANGE),
    )


def has_change_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for a key with changes, not only tombstones."""
    return sql("last_change is not null") if compiled.merges_tombstones else sql("true")


def deleted_change(compiled: CompiledTable) -> Column:
    """Return a key's newest change, or the tombstone's delete if a bare tombstone follows it."""
    newest, offset = F.col("newest"), F.col("last_tombstone")
    sort_key = newest["sort_key"].withField(f"p{len(compiled.terms) + 1}", offset)
    for index, term in enumerate(compiled.terms, start=1):
        if term.within_partition:
            part = newest["sort_key"][f"p{index}"]
            sort_key = sort_key.withField(f"p{index}", F.when(part > 0, offset).otherwise(part))
    fields = {
        "op": F.lit("d"),
        "sort_key": sort_key,
        "offset": offset,
        "source_ms": F.lit(None).cast("bigint"),
        "writer": F.lit(None).cast("int"),
    }
    delete = newest
    for name, value in fields.items():
        delete = delete.withField(name, value)
    return F.when(F.expr(str(bare_sql(compiled))), delete).otherwise(newest)


def stored_deletes(changes: Changes, stored: DataFrame) -> DataFrame:
    """Return the stored rows that bare tombstones delete, with `t_offset`, `t_partition` and `is_alone`.

    Of a stored row and a change of the same batch the one with the higher position is deleted: a stored row
    below that is left out.
    """
    compiled, keys = changes.compiled, [ident(column.name) for column in changes.evolution.keys]
    position = position_of(compiled, sql("newest"))
    columns = [
        *(ident(f"k_{index}").alias(f"t_{index}") for index in range(len(keys))),
        sql("newest.partition as t_partition"),
        sql("last_tombstone as t_offset"),
        sql("not ({has_change}) as is_alone"),
        sql("if({has_change}, {position}, null) as t_position", position=position),
    ]
    filled = [column.of(has_change=has_change_sql(compiled)) for column in columns]
    bare = changes.rows.where(str(bare_sql(compiled))).selectExpr(*map(str, filled))
    deleted = sql(
        "{same} and coalesce(_cdc_partition = t_partition and _cdc_offset < t_offset, true) "
        "and coalesce(_cdc_position > t_position, true) and {alive}",
        same=join(" and ", (sql("{key} = t_{n}", key=key, n=index) for index, key in enumerate(keys))),
        alive=sql("not coalesce({c}, false)", c=ident(DELETED)) if DELETED in stored.columns else sql("true"),
    )
    return stored.join(bare, F.expr(str(deleted)))


def tombstone_rows(deletes: DataFrame, settled: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the rows that delete stored ones, with all their values if deleted rows stay."""
    kept = {name for name, _ in compiled.key_columns}
    if compiled.model.marks_deletes:
        kept |= {name for name in deletes.columns if not name.startswith(OURS)}
    columns = {
        name: cast(ident(name), spark_type) if name in kept else null_of(spark_type)
        for name, spark_type in types_of(settled).items()
    }
    columns |= {
        "_cdc_op": literal("d"),
        "_cdc_position": moved_sql(compiled.terms, sql("_cdc_position"), sql("t_offset")),
        "_cdc_partition": sql("t_partition"),
        "_cdc_offset": sql("t_offset"),
    }
    if compiled.model.marks_deletes:
        columns[DELETED] = sql("true")
    return select(deletes, columns)
