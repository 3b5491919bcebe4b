"""One run of one table: the one module that uses every room.

From the offsets of the table's last commit to the ends that the topic had at the start: read the messages,
decode each with its writer's schema, keep the newest change of each key, fit the rows to the table, write
unreadable messages to the rejects table, commit rows and offsets.
"""

import time
from collections.abc import Mapping

import attrs

from ingest.errors import OffsetError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.lock import LockHandle
from ingest.hudi.option_values import check_values
from ingest.hudi.options import check_hudi
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import TopicRanges
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.run.batch import PreparedBatch
from ingest.run.commit import account, commit_rows, fetch_known, pending, prepared, rows_to_write
from ingest.run.context import Run
from ingest.run.lag import Measures
from ingest.run.rejects import write_rejects
from ingest.run.report import TableOutcome
from ingest.tables import TableConfig


@attrs.frozen
class Start:
    """The table's last commit, the ranges to read, and the ends of the topic that bound them."""

    last: LedgerEntry | None
    ranges: TopicRanges
    watermarks: Mapping[Partition, Watermark]


def run_table(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Bring one table up to date, as its only writer.  Raises `IngestError`; then nothing was committed.

    Checks for new messages before it takes the lock: an idle table does not pay for one.
    """
    started = time.monotonic()
    start = find_start(run, table, watermarks)
    if not start.ranges.is_empty:
        with run.locked(table) as lock:
            run.lake.table(table).refresh()  # another run may have committed
            start = find_start(run, table, watermarks)
            if not start.ranges.is_empty:
                outcome = _run_locked(run, table, start, lock)
                return attrs.evolve(outcome, seconds=time.monotonic() - started)
    seconds = time.monotonic() - started
    return TableOutcome(table.name, table.topic, "idle", ranges=start.ranges, seconds=seconds)


def find_start(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> Start:
    """Compare the table's last commit with the topic, after the checks of the table file.

    Raises TableFileError for `[hudi]`, TableChangedError for a table file that contradicts the table.
    """
    check_hudi(table)
    check_values(run.spark, table)
    stored = run.lake.table(table)
    stored.check_file(table)
    last = stored.checkpoint()
    try:
        return Start(last, pending(table, last, watermarks, run.max_offsets), watermarks)
    except OffsetError:
        # Another run may have committed beyond the ends that this run fetched at its start.
        kafka = run.settings.kafka
        marks = fetch_watermarks(kafka, [table.topic]).of(table.topic)
        return Start(last, pending(table, last, marks, run.max_offsets), marks)


def _run_locked(run: Run, table: TableConfig, start: Start, lock: LockHandle) -> TableOutcome:
    """Read, decode, reject and commit."""
    schemas = fetch_known(run, table, start.ranges, start.watermarks)
    with prepared(run, table, start.last, start.ranges, schemas) as batch:
        rows, lost = rows_to_write(run, batch)
        run.enter(table, "writing")
        with run.stop.committing(table.name):
            committing = time.monotonic()
            lock.check()
            write_rejects(run, batch, start.ranges, start.last)
            lock.check()
            committed = commit_rows(run, batch, rows, _ledger_entry(run, start, batch))
            measures = Measures(commit_s=time.monotonic() - committing)
        return TableOutcome(
            table.name, table.topic, "committed", committed.instant, start.ranges, batch.counts,
            batch.evolution.changes, lost=lost, measures=measures,
        )  # fmt: skip


def _ledger_entry(run: Run, start: Start, batch: PreparedBatch) -> LedgerEntry:
    """Return the ledger entry of a run's commit, with the end offsets of its ranges."""
    ends = start.ranges.end_offsets()
    entry = account(run, start.last, batch)
    high = {partition: max(end, entry.high_offsets.get(partition, 0)) for partition, end in ends.items()}
    return attrs.evolve(entry, next_offsets=ends, high_offsets=high, topic_id=start.ranges.topic_id)
