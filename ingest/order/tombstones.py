"""Tombstones that alone report a delete.

A connector sends a delete and then a tombstone, so that Kafka's cleaner drops the key's records; the cleaner
may keep only the tombstone.  A *bare* tombstone is the last message of its key, without a delete directly
before it.  It deletes the row that came from an earlier offset of its partition.  It has no source position:
its delete gets the position of the deleted row, moved to the tombstone's offset, so that older changes lose
against it and newer ones win.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, DELETED, TOMBSTONE
from ingest.compile.evolve import Evolution
from ingest.compile.position import moved_sql, position_sql
from ingest.compile.table import CompiledTable
from ingest.typemap.sparktype import quote

_OURS = ("_cdc_", "_hoodie_")


def tombstone_counters(compiled: CompiledTable) -> dict[str, tuple[str, str]]:
    """Return the SQL of each counter of a key's messages, and how it is counted.

    `last_change` is twice the highest offset of a change, plus one if that is a delete.
    """
    if not compiled.keyed_tombstones:
        return {}
    tombstone, change = f"op = '{TOMBSTONE}'", f"kind = '{CHANGE}'"
    return {
        "tombstones": (f"if({tombstone}, 1L, 0L)", "SUM"),
        "last_tombstone": (f"if({tombstone}, offset, null)", "MAX"),
        "last_change": (f"if({change}, offset * 2 + int(op = 'd'), null)", "MAX"),
        "partitions": ("shiftleft(1L, partition % 62)", "OR"),
    }


def bare_sql(compiled: CompiledTable) -> str:
    """Return SQL that is true for a key whose last message is a bare tombstone; never null."""
    if not compiled.keyed_tombstones:
        return "false"
    return (
        f"(kind = '{CHANGE}' and tombstones > 0 and bit_count(partitions) = 1 "
        "and coalesce(last_tombstone * 2 > last_change and last_change % 2 = 0, true))"
    )


def has_change_sql(compiled: CompiledTable) -> str:
    """Return SQL that is true for a key with changes, not only tombstones."""
    return "last_change is not null" if compiled.keyed_tombstones else "true"


def deleted_change(compiled: CompiledTable) -> Column:
    """Return a key's newest change; where a bare tombstone follows it, as the tombstone's delete."""
    newest, offset = F.col("newest"), F.col("last_tombstone")
    place = newest["place"].withField(f"p{len(compiled.terms) + 1}", offset)
    for index, term in enumerate(compiled.terms, start=1):
        if term.within_partition:
            part = newest["place"][f"p{index}"]
            place = place.withField(f"p{index}", F.when(part > 0, offset).otherwise(part))
    fields = {
        "op": F.lit("d"),
        "place": place,
        "offset": offset,
        "source_ms": F.lit(None).cast("bigint"),
        "writer": F.lit(None).cast("int"),
    }
    delete = newest
    for name, value in fields.items():
        delete = delete.withField(name, value)
    return F.when(F.expr(bare_sql(compiled)), delete).otherwise(newest)


def stored_deletes(
    folded: DataFrame, stored: DataFrame, compiled: CompiledTable, evolution: Evolution
) -> DataFrame:
    """Return the stored rows that bare tombstones delete, with `t_offset`, `t_partition` and `is_alone`.

    Of a stored row and a change of the same batch the one with the higher position is deleted: a stored row
    below that is left out.
    """
    keys = [quote(column.name) for column in evolution.keys]
    position = position_sql(compiled.terms, compiled.table.epoch, "newest.place")
    has_change = has_change_sql(compiled)
    bare = folded.where(bare_sql(compiled)).selectExpr(
        *(f"k_{index} as t_{index}" for index in range(len(keys))),
        "newest.partition as t_partition",
        "last_tombstone as t_offset",
        f"not ({has_change}) as is_alone",
        f"if({has_change}, {position}, null) as t_position",
    )
    same = " and ".join(f"{key} = t_{index}" for index, key in enumerate(keys))
    alive = f"not coalesce({DELETED}, false)" if DELETED in stored.columns else "true"
    earlier = "_cdc_partition = t_partition and _cdc_offset < t_offset"
    newer = "coalesce(_cdc_position > t_position, true)"
    return stored.join(bare, F.expr(f"{same} and {earlier} and {newer} and {alive}"))


def tombstone_rows(deletes: DataFrame, settled: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the rows that delete stored ones; where deleted rows stay, with all their values."""
    keys = {name for name, _ in compiled.key_columns}
    values = set(deletes.columns) if compiled.marks_deleted else keys
    columns = {
        field.name: f"cast({quote(field.name) if _keeps(field.name, values) else 'null'} "
        f"as {field.dataType.simpleString()})"
        for field in settled.schema
    }
    columns |= {
        "_cdc_op": "'d'",
        "_cdc_position": moved_sql(compiled.terms, "_cdc_position", "t_offset"),
        "_cdc_partition": "t_partition",
        "_cdc_offset": "t_offset",
    }
    if compiled.marks_deleted:
        columns[DELETED] = "true"
    return deletes.selectExpr(*(f"{columns[name]} as {quote(name)}" for name in settled.columns))


def _keeps(name: str, values: set[str]) -> bool:
    return name in values and not name.startswith(_OURS)
