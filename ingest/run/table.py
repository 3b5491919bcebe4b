"""One run of one table: the one place that sees every room.

From the offsets in the table's last commit to the ends seen at the start: read the messages, decode each
with its writer's schema, keep the newest change of each key, fit it to the table, set aside what cannot be
read, commit rows and offsets.
"""

import time
from collections.abc import Mapping

import attrs

from ingest.errors import OffsetError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import read as read_ledger
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import TopicRanges
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.run.batch import PreparedBatch
from ingest.run.commit import (
    account,
    commit_rows,
    fetch_known,
    pending,
    prepared,
    rows_to_write,
)
from ingest.run.context import Run
from ingest.run.lag import Measures
from ingest.run.rejects import write_rejects
from ingest.run.report import TableOutcome
from ingest.tables import TableConfig


def run_table(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Bring one table up to date, as its only writer.  Raises `IngestError`; then nothing was committed.

    Whether there is anything to do is looked at without the lock, which an idle table does not pay for.
    """
    started = time.monotonic()
    _, ranges, _ = _look(run, table, watermarks)
    if ranges.is_empty:
        return _idle(table, ranges, started)
    with run.locked(table) as held:
        last, ranges, marks = _look(run, table, watermarks)  # another run may have been there
        if ranges.is_empty:
            return _idle(table, ranges, started)
        written = fetch_known(run, table, ranges, marks)
        with prepared(run, table, last, ranges, written) as found:
            rows, lost = rows_to_write(run, found)
            run.progress(table.name, "writing")
            with run.stop.committing(table.name):
                committing = time.monotonic()
                held.check()
                write_rejects(run.spark, run.rejects_path(table), found, ranges, last=last, run_id=run.run_id)
                held.check()
                instant = commit_rows(run, found, rows, _account(run, last, ranges, found))
                measures = Measures(commit_s=time.monotonic() - committing)
                del run.last[table.name]  # another one by now
    return TableOutcome(
        table.name, table.topic, "committed", instant, ranges, found.counts, found.evolution.changes,
        time.monotonic() - started, lost=lost, measures=measures,
    )  # fmt: skip


def _idle(table: TableConfig, ranges: TopicRanges, started: float) -> TableOutcome:
    return TableOutcome(table.name, table.topic, "idle", ranges=ranges, seconds=time.monotonic() - started)


def _look(
    run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]
) -> tuple[LedgerEntry | None, TopicRanges, Mapping[Partition, Watermark]]:
    """Return the table's last commit, what is left to read, and the ends of the topic that this goes by."""
    last = run.last[table.name] = read_ledger(run.spark, run.path(table))
    try:
        return last, pending(table, last, watermarks, run.max_offsets), watermarks
    except OffsetError:
        # Another run may have gone beyond the ends that we knew.
        kafka = run.settings.kafka
        marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic]).of(table.topic)
        return last, pending(table, last, marks, run.max_offsets), marks


def _account(run: Run, last: LedgerEntry | None, ranges: TopicRanges, found: PreparedBatch) -> LedgerEntry:
    """Return the account of a run's commit, with the offsets that it comes to."""
    ends = ranges.end_offsets()
    entry = account(run, last, found)
    high = {partition: max(end, entry.high_offsets.get(partition, 0)) for partition, end in ends.items()}
    return attrs.evolve(entry, next_offsets=ends, high_offsets=high, topic_id=ranges.topic_id)
