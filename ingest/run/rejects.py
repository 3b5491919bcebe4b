"""Rejected messages are set aside, before the commit that accounts for their offsets."""

from datetime import UTC, datetime

import attrs
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.decode.diagnosis import explain
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import read as read_ledger
from ingest.hudi.rejects import COLUMNS, KEY, commit_rejects, outdated, read_rejects
from ingest.kafka.ranges import TopicRanges
from ingest.run.batch import PreparedBatch
from ingest.tables import TableConfig


def write_rejects(
    spark: SparkSession,
    path: str,
    found: PreparedBatch,
    ranges: TopicRanges,
    *,
    last: LedgerEntry | None,
    run_id: str,
) -> None:
    """Put the rejects of a range into their table at `path`; nothing else of the range's offsets stays there.

    They count once the data's commit holds these offsets (`last` is the one before).  A run that died before
    its own has left rows that do not: they go.  A move back reads again what counts: it is `reread`.  Without
    rejects, now or ever, this is one look at storage.
    """
    before = read_ledger(spark, path)
    held = before.high_offsets if before else {}
    is_behind = any(start < held.get(partition, 0) for partition, start in ranges.start_offsets().items())
    if found.rejects is None and not is_behind:
        return
    table = found.compiled.table
    rows = spark.createDataFrame([], _DDL) if found.rejects is None else to_rows(found.rejects, found, run_id)
    if is_behind:
        high = last.high_offsets if last else {}
        void = outdated(read_rejects(spark, path), ranges.start_offsets(), high)
        rows = rows.unionByName(void.join(rows.select(*KEY), [*KEY], "left_anti"))
    commit_rejects(rows, table, path, _entry(table, found, ranges, before, run_id))


_DDL = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())


def to_rows(rejects: DataFrame, found: PreparedBatch, run_id: str) -> DataFrame:
    """Make rows of rejected messages, open ones."""
    made = {
        "topic": F.lit(found.compiled.table.topic),
        "timestamp": F.expr("if(timestamp < timestamp_seconds(0), null, timestamp)"),  # Kafka's -1: none
        "run_id": F.lit(run_id),
        "rejected_at": F.lit(datetime.now(UTC)),
        "resolved": F.lit(None).cast("string"),
        "resolved_at": F.lit(None).cast("timestamp"),
    }
    return explain(rejects, found.compiled).withColumns(made).select(*COLUMNS)


def _entry(
    table: TableConfig, found: PreparedBatch, ranges: TopicRanges, before: LedgerEntry | None, run_id: str
) -> LedgerEntry:
    """Return the account of a write: all rows before `high_offsets` are from here or before."""
    ends = ranges.end_offsets()
    entry = before or LedgerEntry(run_id, table.topic, {}, {})
    return attrs.evolve(
        entry,
        run_id=run_id,
        topic=table.topic,
        next_offsets={**entry.next_offsets, **ends},
        high_offsets={**entry.high_offsets, **ends},
        counters={"rejected": found.counts.rejected},
        kind="run",
        note="",
        instant=None,
    )
