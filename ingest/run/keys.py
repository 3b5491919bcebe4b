"""Keys that Hudi could not hold apart, stopped before anything is written."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame

from ingest.compile.evolve import TargetColumn
from ingest.compile.sparktype import SparkType
from ingest.errors import DecodeError, EvolutionError, SchemaError
from ingest.hudi.keys import unsafe_key_change, unsafe_key_type, unsafe_partition_type, unsafe_value
from ingest.tables import Table


def check_keys(
    table: Table,
    keys: Sequence[TargetColumn],
    columns: Sequence[TargetColumn],
    present: Mapping[str, SparkType],
) -> None:
    """Refuse types that are no record key or partition, and changes that would give old rows new keys."""
    for key in keys:
        reason = unsafe_key_type(str(key.spark))
        if reason:
            raise SchemaError(f"table {table.table}", f"$.{key.name}", f"{key.spark} as key: {reason}")
        was = present.get(key.name)
        if was is not None and (reason := unsafe_key_change(str(was), str(key.spark))):
            raise EvolutionError(table.table, key.name, str(key.spark), str(was), reason)
    kinds = {column.name: column.spark for column in (*keys, *columns)}
    for name in table.target.partition_by:
        kind = kinds.get(name, present.get(name))
        if kind is None:
            where = f"table {table.table}"
            raise SchemaError(where, f"$.{name}", "is no column, so it cannot be partitioned by")
        if reason := unsafe_partition_type(str(kind)):
            raise SchemaError(f"table {table.table}", f"$.{name}", f"{kind} as partition: {reason}")


def refuse_keys(rows: DataFrame, table: Table, keys: Sequence[TargetColumn]) -> None:
    """Refuse rows whose key's text is one that Hudi would take for another's."""
    kinds = {key.name: str(key.spark) for key in keys}
    if not table.target.partition_by and not {"string", "binary"}.intersection(kinds.values()):
        return
    reason = unsafe_value(kinds, table.target.partition_by).alias("reason")
    unsafe = rows.select("_cdc_partition", "_cdc_offset", reason).where("reason is not null")
    first = unsafe.orderBy("_cdc_partition", "_cdc_offset").limit(1).collect()
    for row in first:
        raise DecodeError(table.topic, row["_cdc_partition"], row["_cdc_offset"], row["reason"])
