"""Rejected messages go to the rejects table, before the commit that accounts for their offsets.

Rejects are what other systems call dead letters.
"""

from datetime import UTC, datetime
from typing import Final

import attrs
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.decode.rejects import Reason
from ingest.hudi.rejects import COLUMNS, KEY, outdated, read_rejects
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.ranges import TopicRanges
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.start import last_of
from ingest.run.work.writer import Writer
from ingest.spark.java import empty_rows
from ingest.tables import Feed


def write_rejects(
    writer: Writer, batch: PreparedBatch, ranges: TopicRanges, last: LedgerEntry | None
) -> None:
    """Replace the rows of a range in the rejects table by the rejects of this batch.

    Rows take effect with the data commit that holds their offsets (`last` is the commit before).  Rows left
    by a crashed run are deleted.  Rows of offsets that are read again become `reread`.  A table that never
    had rejects costs one look at storage.
    """
    feed, run_id = batch.compiled.feed, writer.run.run_id
    before = last_of(writer.rejects, feed)
    high = before.high_offsets if before else {}
    is_behind = any(start < high.get(partition, 0) for partition, start in ranges.start_offsets().items())
    if batch.rejects is None and not is_behind:
        return
    rows = (
        empty_rows(writer.run.spark, _DDL) if batch.rejects is None else to_rows(batch.rejects, batch, run_id)
    )
    if is_behind:
        applied = last.high_offsets if last else {}
        rejects = read_rejects(writer.rejects, writer.stored).where(F.col("topic") == feed.topic)
        void = outdated(rejects, ranges.start_offsets(), applied, run_id)
        rows = rows.unionByName(void.join(rows.select(*KEY), [*KEY], "left_anti"))
    writer.commit_rejects(rows, _entry(feed, batch, ranges, before, run_id))


TOO_LARGE: Final[Reason] = "too-large"
"""The reason of rejects whose bytes only the topic has."""
BYTES: Final = ("key", "value", "headers")
"""The columns of a message's bytes, which may hold values that the table masks."""
_DDL = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())


def to_rows(rejects: DataFrame, batch: PreparedBatch, run_id: str) -> DataFrame:
    """Return rejected messages as open rows of the rejects table."""
    columns = {
        "topic": F.lit(batch.compiled.feed.topic),
        "timestamp": F.expr(
            "if(timestamp < timestamp_seconds(0), null, timestamp)"
        ),  # Kafka's -1: no timestamp
        **without_bytes(batch.compiled.feed),
        "run_id": F.lit(run_id),
        "rejected_at": F.lit(datetime.now(UTC)),
        "resolved": F.lit(None).cast("string"),
        "resolved_at": F.lit(None).cast("timestamp"),
        "resolved_by": F.lit(None).cast("string"),
    }
    return batch.explained(rejects).withColumns(columns).select(*COLUMNS)


def without_bytes(feed: Feed) -> dict[str, Column]:
    """Return the columns that replace a message's bytes if these are not stored."""
    if feed.withholds_messages:
        return {name: F.lit(None).cast(COLUMNS[name]) for name in BYTES}
    return {name: F.when(F.col("reason") != TOO_LARGE, F.col(name)) for name in ("value", "headers")}


def _entry(
    feed: Feed, batch: PreparedBatch, ranges: TopicRanges, before: LedgerEntry | None, run_id: str
) -> LedgerEntry:
    """Return the ledger entry of a write.  `high_offsets` bounds all rows written so far."""
    ends = ranges.end_offsets()
    entry = before or LedgerEntry(run_id, feed.topic, {}, {})
    return attrs.evolve(
        entry,
        run_id=run_id,
        topic=feed.topic,
        next_offsets={**entry.next_offsets, **ends},
        high_offsets={**entry.high_offsets, **ends},
        counters={"rejected": batch.counts.rejected},
        kind="run",
        note="",
        instant=None,
    )
