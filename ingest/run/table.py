"""One run of one table: the one module that uses every room.

From the offsets of the table's last commit to the ends that the topic had at the start: read the messages,
decode each with its writer's schema, keep the newest change of each key, fit the rows to the table, write
unreadable messages to the rejects table, commit rows and offsets.
"""

import time
from collections.abc import Mapping

import attrs

from ingest.errors import LakeUnreachableError, TableChangedError
from ingest.hudi.metaclient import is_rewritten
from ingest.hudi.options import options_digest
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import Watermark
from ingest.names import Partition, Truncate
from ingest.report.lag import Measures
from ingest.report.outcome import TableOutcome
from ingest.run.batch.commit import account, commit_rows, fetch_known, prepared, rows_to_write
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.rejects import write_rejects
from ingest.run.batch.start import Start, find_start, is_left_costly
from ingest.run.batch.table_state import table_state
from ingest.run.work.context import Context
from ingest.run.work.writer import Writer, compact_idle, writing
from ingest.tables import Feed


def run_table(run: Context, feed: Feed, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Bring one table up to date, as its only writer.  Raises `IngestError`, and nothing was committed then.

    Checks for new messages before it takes the lock: an idle table does not pay for one.
    """
    started = time.monotonic()
    with run.steps.during(feed.name, "plan"):
        outcome = _run(run, feed, watermarks)
    return attrs.evolve(outcome, seconds=time.monotonic() - started)


def _run(run: Context, feed: Feed, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    start = _look(run, feed, watermarks)
    if start is None or not start.ranges.is_empty:
        with writing(run, feed.table) as writer:
            start = _find_start(run, feed, watermarks, is_checked=True)  # another run may have committed
            if not start.ranges.is_empty:
                return _write(writer, feed, start)
    elif is_left_costly(run, feed.table, run.lake.table(feed.table)):
        compact_idle(run, feed.table)
    else:
        run.update_iceberg(feed.table)
    return TableOutcome(feed.name, feed.topic, "idle", ranges=start.ranges)


def _look(run: Context, feed: Feed, watermarks: Mapping[Partition, Watermark]) -> Start | None:
    """Find the start without the lock, or return None if a rebuild or rewrite is at work, or was killed."""
    try:
        return _find_start(run, feed, watermarks, is_checked=False)
    except (TableChangedError, LakeUnreachableError) as error:
        if isinstance(error, TableChangedError) or is_rewritten(run.spark, run.lake.table(feed.table).path):
            return None
        raise


def _find_start(
    run: Context, feed: Feed, watermarks: Mapping[Partition, Watermark], *, is_checked: bool
) -> Start:
    start = find_start(run, run.lake.table(feed.table), feed, watermarks, is_checked=is_checked)
    high_offsets = start.last.high_offsets if start.last else {}
    return attrs.evolve(start, ranges=run.limits.cut(feed, start.ranges, high_offsets))


def _write(writer: Writer, feed: Feed, start: Start) -> TableOutcome:
    """Read, decode, reject and commit."""
    run = writer.run
    started_ms = time.time_ns() // 1_000_000
    run.limits.begin(feed, start.ranges)
    state = table_state(run, feed.table, start.last)
    schemas = fetch_known(run, feed, start.ranges, start.watermarks, state.met_ids)
    with prepared(run, feed, state, start.ranges, schemas) as batch:
        new = rows_to_write(run, batch)
        chosen = new.batch
        run.step(feed.table, f"writing {chosen.counts.upserted + chosen.counts.deleted:,} rows", "write")
        committing = time.monotonic()
        write_rejects(writer, chosen, start.ranges, start.last)
        entry = attrs.evolve(_ledger_entry(run, start, chosen), started_ms=started_ms)
        committed = commit_rows(writer, chosen, new.rows, entry)
        measures = Measures(commit_s=time.monotonic() - committing)
        run.limits.end(feed)
        if run.lineage is not None:
            run.lineage.note_columns(feed, batch.evolution, writer.stored.columns() or {})
        return TableOutcome(
            feed.name, feed.topic, "committed", committed.instant, start.ranges, chosen.counts,
            chosen.evolution.changes, lost=new.lost, measures=measures,
        )  # fmt: skip


def _ledger_entry(run: Context, start: Start, batch: PreparedBatch) -> LedgerEntry:
    """Return the ledger entry of a run's commit, with the end offsets of its ranges."""
    ends = start.ranges.end_offsets()
    entry = account(run, start.last, batch)
    high = {partition: max(end, entry.high_offsets.get(partition, 0)) for partition, end in ends.items()}
    return attrs.evolve(
        entry,
        checked_options=options_digest(batch.compiled.table) if batch.compiled.table.hudi else "",
        start_offsets=start.ranges.start_offsets(),
        next_offsets=ends,
        high_offsets=high,
        topic_id=start.ranges.topic_id,
        truncates=_remembered(entry.truncates, start, batch),
    )


def _remembered(truncates: tuple[Truncate, ...], start: Start, batch: PreparedBatch) -> tuple[Truncate, ...]:
    """Return the truncates that later messages may be older than, of all that are known.

    A truncate is in one partition only, and a bounded run may read it before older changes in others.  Tables
    without versions need the newest one until a later run has read every partition to its end.
    """
    if batch.compiled.model.has_versions:
        return truncates
    return batch.counts.truncates if start.reaches_ends else truncates[-1:]
