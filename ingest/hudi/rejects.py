"""The table of a table's rejects: one row a record that was set aside, by its place in Kafka.

It is written before the commit that accounts for the offsets, and a row counts only from that commit on: what
lies at or behind the next offset to read was left by a run that died in between.  The next run reads those
offsets again, and takes such rows out.
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.errors import UsageError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import read as read_ledger
from ingest.hudi.options import KEYGEN, OWNED, tuned
from ingest.hudi.upsert import commit
from ingest.names import Instant, Partition
from ingest.settings import Settings
from ingest.tables import TableConfig, Target

KEY: Final = ("topic", "partition", "offset")
COLUMNS: Final[Mapping[str, str]] = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
    "schema_id": "int",
    "reason": "string",
    "error": "string",
    "key": "binary",
    "value": "binary",
    "headers": "array<struct<key: string, value: binary>>",
    "run_id": "string",
    "rejected_at": "timestamp",
    "resolved": "string",
    "resolved_at": "timestamp",
}
GONE: Final = "gone"
"""What `resolved` says of a row that is to be deleted."""

_OPTIONS: Final[Mapping[str, str]] = {
    **tuned(Target(buckets=1)),
    **OWNED,
    # Equal for every version of a row, so that the last one written wins.
    "hoodie.table.ordering.fields": "offset",
    "hoodie.payload.delete.field": "resolved",
    "hoodie.payload.delete.marker": GONE,
    "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
    "hoodie.datasource.write.recordkey.field": ",".join(KEY),
    "hoodie.datasource.write.partitionpath.field": "",
    "hoodie.datasource.write.keygenerator.class": f"{KEYGEN}.NonpartitionedKeyGenerator",
    "hoodie.index.type": "BUCKET",
    "hoodie.index.bucket.engine": "SIMPLE",
    "hoodie.bucket.index.num.buckets": "1",
    "hoodie.datasource.write.operation": "upsert",
}


def commit_rejects(rows: DataFrame, table: TableConfig, path: str, entry: LedgerEntry) -> Instant:
    """Put rows of `COLUMNS` in; one at a place that has one replaces it, one that is `GONE` takes it out."""
    typed = rows.selectExpr(*(f"cast(`{name}` as {kind}) as `{name}`" for name, kind in COLUMNS.items()))
    name = {"hoodie.table.name": f"{table.name}_rejects"}
    return commit(typed, {**_OPTIONS, **name}, table, path, entry)


def read_rejects(spark: SparkSession, path: str) -> DataFrame:
    """Read all rows, those too that do not count."""
    return spark.read.format("hudi").load(path).select(*COLUMNS)


def counting(rejects: DataFrame, next_offsets: Mapping[Partition, int]) -> DataFrame:
    """Keep the rows that count: before the next offsets that the data's last commit names."""
    branches = " ".join(f"when {partition} then {offset}" for partition, offset in next_offsets.items())
    return rejects.where(f"offset < case partition {branches} else 0 end") if branches else rejects.limit(0)


def outdated(
    rejects: DataFrame, starts: Mapping[Partition, int], high_offsets: Mapping[Partition, int]
) -> DataFrame:
    """Return the rows that a run from `starts` on makes void, as they are to be written.

    Those that never counted, at or behind `high_offsets`, go; open ones that did are resolved as `reread`.
    """
    again = " ".join(f"when {partition} then offset >= {offset}" for partition, offset in starts.items())
    branches = " ".join(
        f"when {partition} then offset < {offset}" for partition, offset in high_offsets.items()
    )
    counted = f"case partition {branches} else false end" if branches else "false"
    void = rejects.where(f"case partition {again} else false end and (resolved is null or not {counted})")
    others = [name for name in COLUMNS if name not in ("resolved", "resolved_at")]
    return void.selectExpr(
        *others, f"if({counted}, 'reread', '{GONE}') as resolved", "current_timestamp() as resolved_at"
    )


def counting_rows(settings: Settings, spark: SparkSession, table: TableConfig) -> DataFrame | None:
    """Return the rejects that count, open or resolved; None where a table never had any."""
    path = settings.lake.rejects_path(table.name)
    if read_ledger(spark, path) is None:
        return None
    last = read_ledger(spark, settings.lake.table_path(table.name))
    return counting(read_rejects(spark, path), last.next_offsets if last else {})


def count_open(settings: Settings, spark: SparkSession, table: TableConfig) -> int:
    """Count the open rejects of a table."""
    rows = counting_rows(settings, spark, table)
    return 0 if rows is None else rows.where("resolved is null").count()


def at(rows: DataFrame, partition: int | None, offset: int | None) -> DataFrame:
    """Keep the rows of a partition, or the one at an offset of it, if one is named."""
    if partition is not None:
        rows = rows.where(F.col("partition") == partition)
    return rows if offset is None else rows.where(F.col("offset") == offset)


def next_entry(spark: SparkSession, path: str, run_id: str, kind: Any, note: str) -> LedgerEntry:
    """Return the account of a write to rejects that are there, without new ones."""
    before = read_ledger(spark, path)
    if before is None:
        raise UsageError(f"there are no rejects at {path}")
    return attrs.evolve(before, run_id=run_id, kind=kind, note=note, counters={}, instant=None)
