"""The rejects table of a table: one row per rejected record, with its coordinates in Kafka.

It is written before the commit that accounts for the offsets, and a row counts only from that commit on: rows
at or behind the next offset to read were left by a run that crashed in between.  The next run reads those
offsets again, and deletes such rows.  Likewise a row is resolved only while the commit of the run that
resolved it is in the table's history: a rollback or a restore takes both back.
"""

from collections.abc import Mapping
from itertools import starmap
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import UsageError
from ingest.hudi.lake import Lake
from ingest.hudi.options import KEYGEN, OWNED, TABLE_VERSION, tuned
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import CommitKind, LedgerEntry
from ingest.names import Partition, Topic
from ingest.sql.template import Sql, any_true, join, literal, sql
from ingest.tables import Feed, TableConfig, Target

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
    "resolved_by": "string",
}
GONE: Final = "gone"
"""The value of `resolved` in a row to delete."""

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


def commit_rejects(rejects: HudiTable, rows: DataFrame, table: TableConfig, entry: LedgerEntry) -> None:
    """Commit rows of `COLUMNS`.  Each replaces the row at its coordinates, or deletes it if it is `GONE`."""
    typed = rows.selectExpr(*(f"cast(`{name}` as {ddl}) as `{name}`" for name, ddl in COLUMNS.items()))
    name = f"{table.name}_rejects"
    version = rejects.timeline.properties.version if rejects.timeline else table.target.table_version
    rejects.save(typed, {**_OPTIONS, "hoodie.table.name": name, TABLE_VERSION: str(version)}, name, entry)


def read_rejects(rejects: HudiTable, data: HudiTable) -> DataFrame:
    """Read all rows, also those that do not count, reopened if their resolution was rolled back."""
    rows = rejects.rows()
    if "resolved_by" not in rows.columns:  # a table of an older version
        return rows.withColumn("resolved_by", F.lit(None).cast("string")).select(*COLUMNS)
    by = {row[0] for row in rows.select("resolved_by").distinct().collect() if row[0]}
    lost = by - data.find_runs(by)
    if lost:
        is_resolved = F.col("resolved_by").isNull() | ~F.col("resolved_by").isin(*lost)
        names = ("resolved_by", "resolved", "resolved_at")
        rows = rows.withColumns({name: F.when(is_resolved, F.col(name)) for name in names})
    return rows.select(*COLUMNS)


def counting(rejects: DataFrame, last: LedgerEntry | None) -> DataFrame:
    """Keep the rows that count: those before the next offsets of the data's last commit."""
    if last is None:
        return rejects.limit(0)
    ends = ((topic, last.seen_by(topic).next_offsets) for topic in last.topics)
    return rejects.where(str(any_true(starmap(_is_before, ends))))


def _is_before(topic: Topic, ends: Mapping[Partition, int]) -> Sql:
    """Return a condition that is true for rows of a topic before its ends."""
    branches = [sql("when {n} then offset < {end}", n=n, end=end) for n, end in ends.items()]
    if not branches:
        return sql("false")
    before = sql("case partition {branches} else false end", branches=join(" ", branches))
    return sql("(topic = {topic} and {before})", topic=literal(topic), before=before)


def outdated(
    rejects: DataFrame, starts: Mapping[Partition, int], high_offsets: Mapping[Partition, int], run_id: str
) -> DataFrame:
    """Return the rows that a run from `starts` makes void, as that run writes them.

    Rows that never counted, at or behind `high_offsets`, are deleted.  Open ones are resolved as `reread`.
    """
    again = " ".join(f"when {partition} then offset >= {offset}" for partition, offset in starts.items())
    branches = " ".join(
        f"when {partition} then offset < {offset}" for partition, offset in high_offsets.items()
    )
    counted = f"case partition {branches} else false end" if branches else "false"
    void = rejects.where(f"case partition {again} else false end and (resolved is null or not {counted})")
    resolution = {
        "resolved": F.expr(f"if({counted}, 'reread', '{GONE}')"),
        "resolved_at": F.current_timestamp(),
        "resolved_by": F.lit(run_id),
    }
    return void.withColumns(resolution).select(*COLUMNS)


def counting_rows(lake: Lake, table: TableConfig, source: Topic | None = None) -> DataFrame | None:
    """Return the rejects that count, open or resolved, of a table or of one of its topics.

    Returns None for a table that never had any.
    """
    rejects, data = lake.rejects(table), lake.table(table)
    if rejects.checkpoint() is None:
        return None
    rows = counting(read_rejects(rejects, data), data.checkpoint())
    return rows.where(F.col("topic") == source) if source else rows


def count_open(lake: Lake, feed: Feed) -> int:
    """Count the open rejects of a feed."""
    rows = counting_rows(lake, feed.table, feed.source)
    return 0 if rows is None else rows.where("resolved is null").count()


def at(rows: DataFrame, partition: int | None, offset: int | None) -> DataFrame:
    """Keep the rows of a partition, or the one with an offset of it, if given."""
    if partition is not None:
        rows = rows.where(F.col("partition") == partition)
    return rows if offset is None else rows.where(F.col("offset") == offset)


def next_entry(rejects: HudiTable, run_id: str, kind: CommitKind, note: str) -> LedgerEntry:
    """Return the account of a commit that only changes rejects.  Raises UsageError without rejects."""
    before = rejects.checkpoint()
    if before is None:
        raise UsageError(f"no rejects at {rejects.path}")
    return attrs.evolve(before, run_id=run_id, kind=kind, note=note, counters={}, instant=None)
