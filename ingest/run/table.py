"""One run of one table: the one place that sees every room.

From the offsets in the table's last commit to the ends seen at the start: read the messages, decode each
with its writer's schema, keep the newest change of each key, fit it to the table, set aside what cannot be
read, commit rows and offsets.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

import attrs
from pyspark.sql import DataFrame, SparkSession

from ingest.dialects import DIALECTS
from ingest.errors import OffsetError
from ingest.hudi.catalog import register
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import read as read_ledger
from ingest.hudi.lock import Held, locked
from ingest.hudi.present import present_types, read_all, read_columns
from ingest.hudi.upsert import write
from ingest.kafka.breaks import Consumed, Watermark
from ingest.kafka.ranges import TopicRanges, plan_ranges
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Instant, Partition, SchemaId
from ingest.order.rewrite import merge
from ingest.order.settle import count_lost, settle, stored_columns
from ingest.order.tally import PARTIALS
from ingest.registry import Registry
from ingest.run.aside import set_aside
from ingest.run.batch import Folded, Standing, folded, read_batch
from ingest.run.keys import check_keys, refuse_folders
from ingest.run.measures import Measures
from ingest.run.report import TableOutcome
from ingest.run.schemas import Sides, fetch_written
from ingest.settings import Settings
from ingest.stop import Stop
from ingest.tables import Table


class Progress(Protocol):
    """Hears which step a table has come to."""

    def __call__(self, table: str, step: str) -> None:
        """Note the step; called from the thread that runs the table."""


@attrs.frozen
class Run:
    """What the tables of one run share."""

    run_id: str
    settings: Settings
    spark: SparkSession
    registry: Registry
    max_offsets: int | None
    progress: Progress
    stop: Stop = attrs.Factory(Stop)
    last: dict[str, LedgerEntry | None] = attrs.Factory(dict)
    """The newest commit of each table that was looked at."""

    def path(self, table: Table) -> str:
        """Return where the table lies."""
        return self.settings.lake.table_path(table.table)

    def rejects_path(self, table: Table) -> str:
        """Return where the records that it set aside lie."""
        return self.settings.lake.rejects_path(table.table)

    def locked(self, table: Table) -> AbstractContextManager[Held]:
        """Hold the table's lock."""
        return locked(self.spark, self.settings.lake, table.table, self.run_id, self.settings.run.lock_wait_s)


def run_table(run: Run, table: Table, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
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
            run.progress(table.table, "writing")
            with run.stop.committing(table.table):
                committing = time.monotonic()
                held.check()
                set_aside(run.spark, run.rejects_path(table), found, ranges, last=last, run_id=run.run_id)
                held.check()
                instant = commit_rows(run, found, rows, _account(run, last, ranges, found))
                measures = Measures(commit_s=time.monotonic() - committing)
                del run.last[table.table]  # another one by now
    return TableOutcome(
        table.table, table.topic, "committed", instant, ranges, found.counts, found.evolution.changes,
        time.monotonic() - started, lost=lost, measures=measures,
    )  # fmt: skip


def _idle(table: Table, ranges: TopicRanges, started: float) -> TableOutcome:
    return TableOutcome(table.table, table.topic, "idle", ranges=ranges, seconds=time.monotonic() - started)


def _look(
    run: Run, table: Table, watermarks: Mapping[Partition, Watermark]
) -> tuple[LedgerEntry | None, TopicRanges, Mapping[Partition, Watermark]]:
    """Return the table's last commit, what is left to read, and the ends of the topic that this goes by."""
    last = run.last[table.table] = read_ledger(run.spark, run.path(table))
    try:
        return last, pending(table, last, watermarks, run.max_offsets), watermarks
    except OffsetError:
        # Another run may have gone beyond the ends that we knew.
        kafka = run.settings.kafka
        marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic]).of(table.topic)
        return last, pending(table, last, marks, run.max_offsets), marks


def pending(
    table: Table,
    last: LedgerEntry | None,
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None,
) -> TopicRanges:
    """Return the offsets that a run covers."""
    return plan_ranges(table.topic, consumed(table, last), watermarks, max_offsets)


def consumed(table: Table, last: LedgerEntry | None) -> Consumed:
    """Return what a table has read of its topic."""
    keeps_all = table.target.mode == "append"
    if last is None:
        return Consumed(table.table, keeps_all=keeps_all)
    return Consumed(table.table, last.next_offsets, last.high_offsets, last.topic_id, keeps_all)


def fetch_known(
    run: Run, table: Table, ranges: TopicRanges, watermarks: Mapping[Partition, Watermark]
) -> Sides:
    """Fetch the schemas that are known before ranges are read."""
    retained = {partition: (mark.begin, mark.end) for partition, mark in watermarks.items()}
    return fetch_written(run.settings, run.registry, table, ranges.spans(), retained)


@contextmanager
def prepared(
    run: Run, table: Table, last: LedgerEntry | None, ranges: TopicRanges, written: Sides
) -> Iterator[Folded]:
    """Read ranges, decode and fold them, and fit them to the table: all but writing."""
    run.progress(table.table, f"reading {ranges.span:,} offsets")
    batch = read_batch(run.spark, run.settings.kafka, ranges)
    with folded(batch, table, run.registry, written, standing(run, table, last)) as found:
        yield found


def standing(run: Run, table: Table, last: LedgerEntry | None) -> Standing:
    """Return the table as it stands."""
    often = table.target.delete == "soft" or DIALECTS[table.dialect].often_partial
    partial = often or bool(last and last.counters.get(PARTIALS))
    return Standing(present_types(run.spark, run.path(table)), known_ids(last), partial)


def known_ids(last: LedgerEntry | None) -> tuple[SchemaId, ...]:
    """Return the schemas that the table has met; commits of older versions name only their own."""
    return (last.known_ids or last.schema_ids) if last else ()


def rows_to_write(run: Run, found: Folded) -> tuple[DataFrame, int]:
    """Return a batch's rows as the table takes them, and how many lack values that nobody has.

    Raises `EvolutionError` and others for what must not be written.
    """
    table, evolution, present = found.compiled.table, found.evolution, found.standing.columns
    evolution.check()
    check_keys(table, evolution.keys, evolution.columns, present or {})
    stored = _stored(run, found) if present else None
    lost = count_lost(found.changes, stored, evolution, found.counts)
    rows = settle(found.changes, found.compiled, evolution, found.counts, stored)
    refuse_folders(rows, table, evolution.keys)
    return rows, lost


def _stored(run: Run, found: Folded) -> DataFrame | None:
    """Return the table as it stands, where partial rows, deleted ones or a truncate look back at it."""
    if not found.counts.looks_back:
        return None
    path = run.path(found.compiled.table)
    if found.compiled.marks_deleted:  # rows that stay keep all that they have
        return read_all(run.spark, path)
    return read_columns(run.spark, path, stored_columns(found.compiled, found.evolution))


def commit_rows(run: Run, found: Folded, rows: DataFrame, entry: LedgerEntry) -> Instant:
    """Commit rows with their account; the whole table where one of its columns cannot be widened in place.

    The catalog, where there is one, learns of it.
    """
    table = found.compiled.table
    path, first = run.path(table), found.standing.columns is None
    if found.rewrites:
        run.progress(table.table, f"writing all of it anew, for {', '.join(found.rewrites)}")
        rows = merge(read_all(run.spark, path), rows, found.compiled)
    rewrites = bool(found.rewrites)
    instant = write(rows, table, path, found.key_names, entry, first=first, rewrites=rewrites)
    if run.settings.lake.database:
        register(run.spark, run.settings.lake.database, table.table, path)
    return instant


def account(run: Run, last: LedgerEntry | None, found: Folded) -> LedgerEntry:
    """Return the account of a commit: what a batch brought, at the offsets of the table's last one."""
    table, counts = found.compiled.table, found.counts
    ids = tuple(one for one in counts.schema_ids if one > 0)
    moments = [one for one in (last.max_source_ms if last else None, counts.max_source_ms) if one is not None]
    return LedgerEntry(
        run_id=run.run_id,
        topic=table.topic,
        next_offsets=last.next_offsets if last else {},
        high_offsets=last.high_offsets if last else {},
        schema_ids=ids,
        counters=counts.counters(),
        max_source_ms=max(moments, default=None),
        known_ids=tuple(sorted({*known_ids(last), *ids})),
        topic_id=last.topic_id if last else "",
    )


def _account(run: Run, last: LedgerEntry | None, ranges: TopicRanges, found: Folded) -> LedgerEntry:
    """Return the account of a run's commit, with the offsets that it comes to."""
    ends = ranges.end_offsets()
    entry = account(run, last, found)
    high = {partition: max(end, entry.high_offsets.get(partition, 0)) for partition, end in ends.items()}
    return attrs.evolve(entry, next_offsets=ends, high_offsets=high, topic_id=ranges.topic_id)
