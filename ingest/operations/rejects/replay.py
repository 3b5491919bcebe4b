"""Rejects are put through again, each in its place in the order of changes."""

from collections.abc import Sequence

import attrs
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.diff import SchemaChange
from ingest.decode.framing import has_framings
from ingest.hudi.rejects import COLUMNS, at, counting_rows, next_entry
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import check_topic
from ingest.kafka.read import COLUMNS as MESSAGE
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Instant
from ingest.order.batch_counts import BatchCounts, total
from ingest.report.result import TableResult
from ingest.run.batch.again import read_again
from ingest.run.batch.batch import Batch, decoded_batch
from ingest.run.batch.commit import account, commit_rows, completed, rows_to_write
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.rejects import BYTES, TOO_LARGE, without_bytes
from ingest.run.batch.schemas import PayloadSchemas, fetch_written
from ingest.run.batch.start import consumed, last_of
from ingest.run.batch.table_state import table_state
from ingest.run.work.context import Context
from ingest.run.work.feeds import chosen_feeds
from ingest.run.work.writer import Writer, writing
from ingest.tables import Feed, TableConfig


@attrs.frozen
class Replayed(TableResult):
    """What a replay did.  `instant` is None if no record could be read."""

    json_keys = (
        "table instant counts.read resolved counts.applied counts.superseded counts.ignored "
        "counts.rejected schema_changes"
    )

    counts: BatchCounts = BatchCounts()
    instant: Instant | None = None
    schema_changes: tuple[SchemaChange, ...] = ()

    @property
    def exit_code(self) -> int:
        """1 if a record stays rejected."""
        return super().exit_code or int(bool(self.counts.rejected))

    @property
    def resolved(self) -> int:
        """Rejects that are applied now, or need not be."""
        return self.counts.read - self.counts.rejected


def replay(
    run: Context,
    table: TableConfig,
    partition: int | None = None,
    offset: int | None = None,
    topic: str | None = None,
) -> Replayed:
    """Decode open rejects again, all or those at a place, by the schemas and the table file as they are now.

    Those that can be read are applied as a run would have: a newer row in the table wins.  The table's commit
    comes first, then they are marked.  An interrupted replay can be repeated.

    A table with masks keeps no bytes of rejects: the topic gives them again.  A message that it has lost
    stays rejected.
    """
    feeds = chosen_feeds(run.settings, table, topic)
    with writing(run, table) as writer:
        writer.rejects.check_files()
        return _total([_replay_all(writer, feed, partition, offset) for feed in feeds])


def _total(results: Sequence[Replayed]) -> Replayed:
    """Return the replay of a table from its topics' replays."""
    return Replayed(
        results[0].table,
        total([result.counts for result in results]),
        next((result.instant for result in reversed(results) if result.instant), None),
        tuple(change for result in results for change in result.schema_changes),
    )


def _replay_all(writer: Writer, feed: Feed, partition: int | None, offset: int | None) -> Replayed:
    run = writer.run
    rows, last = counting_rows(run.lake, feed.table, feed.source), last_of(writer.stored, feed)
    if rows is None or last is None:
        return Replayed(feed.name)
    check_topic(feed.topic, consumed(feed, last))
    chosen = _with_bytes(run, feed, at(rows.where("resolved is null"), partition, offset))
    chosen = chosen.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        return Replayed(feed.name) if chosen.isEmpty() else _replay(writer, feed, chosen, last)
    finally:
        chosen.unpersist()


def _with_bytes(run: Context, feed: Feed, rejects: DataFrame) -> DataFrame:
    """Return rejects with their bytes, which are read from the topic again if they are not stored."""
    is_withheld = F.col("reason") == TOO_LARGE
    if feed.withholds_messages:
        is_withheld |= F.col("key").isNull() & F.col("value").isNull()
    withheld = rejects.where(is_withheld)
    if withheld.isEmpty():
        return rejects
    names = [name for name in COLUMNS if name not in BYTES]
    coordinates, most_bytes = withheld.select("partition", "offset"), feed.table.rejects.max_record_bytes
    messages = read_again(run.spark, run.settings.kafka, feed.topic, coordinates, most_bytes)
    found = withheld.select(*names).join(
        messages.select("partition", "offset", *BYTES), ["partition", "offset"]
    )
    return rejects.where(~is_withheld).unionByName(found.select(*COLUMNS))


def _replay(writer: Writer, feed: Feed, chosen: DataFrame, last: LedgerEntry) -> Replayed:
    run = writer.run
    run.step(feed.table, "replaying rejects")
    whole = chosen.select(*MESSAGE, "headers")
    batch = Batch(
        feed,
        table_state(run, feed.table, last),
        whole if has_framings(feed.table) else chosen.select(*MESSAGE),
        lambda coordinates: whole.join(coordinates, ["partition", "offset"], "left_semi"),
        is_bounded=False,
    )
    with decoded_batch(batch, run.registry, _schemas(run, feed)) as decoded:
        result = completed(run, decoded)
        instant = None
        if result.counts.rejected < result.counts.read:
            new = rows_to_write(run, result)
            result = new.batch
            note = f"replayed {result.counts.read - result.counts.rejected} of {result.counts.read} rejects"
            entry = attrs.evolve(account(run, last, result), kind="replay", note=note)
            instant = commit_rows(writer, result, new.rows, entry).instant
        _mark(writer, feed, chosen, result)
        return Replayed(feed.name, result.counts, instant, result.evolution.changes if instant else ())


def _schemas(run: Context, feed: Feed) -> PayloadSchemas:
    """Fetch the schemas known now.  Only schemas inside messages are looked for in the topic."""
    if feed.table.format == "avro" or feed.table.schema or feed.subjects.value:
        return fetch_written(run.settings, run.registry, feed, {}, {})
    kafka = run.settings.kafka
    marks = fetch_watermarks(kafka, [feed.topic]).of(feed.topic)
    retained = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    return fetch_written(run.settings, run.registry, feed, retained, retained)


def _mark(writer: Writer, feed: Feed, chosen: DataFrame, result: PreparedBatch) -> None:
    """Mark the applied records as resolved, and give the others the reason that they have now."""
    done = {
        "resolved": F.lit("replayed"),
        "resolved_at": F.current_timestamp(),
        "resolved_by": F.lit(writer.run.run_id),
    }
    if result.rejects is None:
        marked = chosen.withColumns(done)
    else:
        now = ("schema_id", "reason", "error")
        explained = result.explained(result.rejects).select("partition", "offset", *now)
        still = chosen.drop(*now).join(explained, ["partition", "offset"]).select(*COLUMNS)
        marked = (
            chosen.join(explained, ["partition", "offset"], "left_anti").withColumns(done).unionByName(still)
        )
    marked = marked.withColumns(without_bytes(feed))
    note = f"{result.counts.read - result.counts.rejected} replayed"
    writer.commit_rejects(marked, next_entry(writer.rejects, writer.run.run_id, "replay", note))
