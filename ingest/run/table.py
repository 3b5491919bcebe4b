"""One run of one table: the one module that uses every room.

From the offsets of the table's last commit to the ends that the topic had at the start: read the messages,
decode each with its writer's schema, keep the newest change of each key, fit the rows to the table, write
unreadable messages to the rejects table, commit rows and offsets.
"""

import time
from collections.abc import Mapping

import attrs

from ingest.errors import IngestError, LakeUnreachableError, TableChangedError
from ingest.hudi.locks.lock import LockHandle
from ingest.hudi.metaclient import complete_rewrite, is_rewritten
from ingest.hudi.options import options_digest
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up
from ingest.hudi.upkeep.rebuild import finish_rebuild
from ingest.kafka.breaks import Watermark
from ingest.log import logger
from ingest.names import Partition
from ingest.report.lag import Measures
from ingest.report.outcome import TableOutcome
from ingest.run.batch.commit import account, commit_rows, fetch_known, prepared, rows_to_write
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.rejects import write_rejects
from ingest.run.batch.start import Start, find_start
from ingest.run.batch.table_state import table_state
from ingest.run.work.context import Run
from ingest.tables import TableConfig


def run_table(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Bring one table up to date, as its only writer.  Raises `IngestError`; then nothing was committed.

    Checks for new messages before it takes the lock: an idle table does not pay for one.
    """
    started = time.monotonic()
    with run.steps.during(table.name, "plan"):
        outcome = _run(run, table, watermarks)
    return attrs.evolve(outcome, seconds=time.monotonic() - started)


def _run(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Run a table; again, if a rewrite of its properties was killed and had to be completed first."""
    try:
        return _run_once(run, table, watermarks)
    except LakeUnreachableError:
        paths = run.lake.table(table).path, run.lake.rejects(table).path
        rewritten = [path for path in paths if is_rewritten(run.spark, path)]
        if not rewritten:
            raise
        with run.locked(table):
            for path in rewritten:
                complete_rewrite(run.spark, path)
    return _run_once(run, table, watermarks)


def _run_once(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    try:
        start = _find_start(run, table, watermarks)
    except TableChangedError:
        with run.locked(table):  # a rebuild may be at work
            finish_rebuild(run.lake.table(table), table)
        start = _find_start(run, table, watermarks)
    if not start.ranges.is_empty:
        with run.locked(table) as lock:
            run.lake.table(table).refresh()  # another run may have committed
            start = _find_start(run, table, watermarks)
            if not start.ranges.is_empty:
                return _run_locked(run, table, start, lock)
    return TableOutcome(table.name, table.topic, "idle", ranges=start.ranges)


def _find_start(run: Run, table: TableConfig, watermarks: Mapping[Partition, Watermark]) -> Start:
    start = find_start(run.lake.table(table), table, watermarks, run.settings.kafka, run.max_offsets)
    high_offsets = start.last.high_offsets if start.last else {}
    return attrs.evolve(start, ranges=run.limits.cut(table, start.ranges, high_offsets))


def _run_locked(run: Run, table: TableConfig, start: Start, lock: LockHandle) -> TableOutcome:
    """Read, decode, reject and commit."""
    started_ms = time.time_ns() // 1_000_000
    run.limits.begin(table, start.ranges)
    state = table_state(run, table, start.last)
    schemas = fetch_known(run, table, start.ranges, start.watermarks, state.met_ids)
    run.steps.begin(table.name, "read")
    with prepared(run, table, state, start.ranges, schemas) as batch:
        new = rows_to_write(run, batch)
        chosen = new.batch
        run.steps.begin(table.name, "write")
        run.enter(table, f"writing {chosen.counts.upserted + chosen.counts.deleted:,} rows")
        with run.stop.committing(table.name):
            committing = time.monotonic()
            lock.check()
            write_rejects(run, chosen, start.ranges, start.last)
            lock.check()
            entry = attrs.evolve(_ledger_entry(run, start, chosen), started_ms=started_ms)
            committed = commit_rows(run, chosen, new.rows, entry)
            measures = Measures(commit_s=time.monotonic() - committing)
            run.limits.end(table)
            keep_up_inline(run, table)
        if run.lineage is not None:
            run.lineage.note_columns(table, batch.evolution, run.lake.table(table).columns() or {})
        return TableOutcome(
            table.name, table.topic, "committed", committed.instant, start.ranges, chosen.counts,
            chosen.evolution.changes, lost=new.lost, measures=measures,
        )  # fmt: skip


def _ledger_entry(run: Run, start: Start, batch: PreparedBatch) -> LedgerEntry:
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
    )


def keep_up_inline(run: Run, table: TableConfig) -> None:
    """Compact, clean and archive what is due, unless the settings leave that to `ingest maintain`.

    A failure is a warning in the log: the next run tries again.
    """
    if run.settings.run.upkeep == "maintain":
        return
    run.steps.begin(table.name, "upkeep")
    try:
        keep_up(run.lake.table(table), table)
    except IngestError as error:
        logger(__name__).warning("commit succeeded; upkeep failed", table=table.name, problem=str(error))
