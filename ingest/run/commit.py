"""From pending offsets to a commit: the steps that runs, plans and replays share."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import DataFrame

from ingest.dialects import DIALECTS
from ingest.hudi.catalog import register
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.present import present_types, read_all, read_columns
from ingest.hudi.upsert import write
from ingest.kafka.breaks import Consumed, Watermark
from ingest.kafka.ranges import TopicRanges, plan_ranges
from ingest.names import Instant, Partition, SchemaId
from ingest.order.counts import PARTIALS
from ingest.order.rewrite import merge
from ingest.order.rows import build_rows, count_lost, stored_columns
from ingest.run.batch import PreparedBatch, TableState, folded, read_batch
from ingest.run.context import Run
from ingest.run.keys import check_keys, refuse_folders
from ingest.run.schemas import PayloadSchemas, fetch_written
from ingest.tables import TableConfig


def pending(
    table: TableConfig,
    last: LedgerEntry | None,
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None,
) -> TopicRanges:
    """Return the offsets that a run covers."""
    return plan_ranges(table.topic, consumed(table, last), watermarks, max_offsets)


def consumed(table: TableConfig, last: LedgerEntry | None) -> Consumed:
    """Return what a table has read of its topic."""
    keeps_all = table.target.mode == "append"
    if last is None:
        return Consumed(table.name, keeps_all=keeps_all)
    return Consumed(table.name, last.next_offsets, last.high_offsets, last.topic_id, keeps_all)


def fetch_known(
    run: Run, table: TableConfig, ranges: TopicRanges, watermarks: Mapping[Partition, Watermark]
) -> PayloadSchemas:
    """Fetch the schemas that are known before ranges are read."""
    retained = {partition: (mark.begin, mark.end) for partition, mark in watermarks.items()}
    return fetch_written(run.settings, run.registry, table, ranges.spans(), retained)


@contextmanager
def prepared(
    run: Run, table: TableConfig, last: LedgerEntry | None, ranges: TopicRanges, written: PayloadSchemas
) -> Iterator[PreparedBatch]:
    """Read ranges, decode and fold them, and fit them to the table: all but writing."""
    run.progress(table.name, f"reading {ranges.span:,} offsets")
    batch = read_batch(run.spark, run.settings.kafka, ranges)
    with folded(batch, table, run.registry, written, standing(run, table, last)) as found:
        yield found


def standing(run: Run, table: TableConfig, last: LedgerEntry | None) -> TableState:
    """Return the table as it stands."""
    often = table.target.delete == "soft" or DIALECTS[table.dialect].sends_partial_updates
    partial = often or bool(last and last.counters.get(PARTIALS))
    return TableState(present_types(run.spark, run.path(table)), known_ids(last), partial)


def known_ids(last: LedgerEntry | None) -> tuple[SchemaId, ...]:
    """Return the schemas that the table has met; commits of older versions name only their own."""
    return (last.known_ids or last.schema_ids) if last else ()


def rows_to_write(run: Run, found: PreparedBatch) -> tuple[DataFrame, int]:
    """Return a batch's rows as the table takes them, and how many lack values that nobody has.

    Raises `EvolutionError` and others for what must not be written.
    """
    table, evolution, present = found.compiled.table, found.evolution, found.standing.columns
    evolution.check()
    check_keys(table, evolution.keys, evolution.columns, present or {})
    stored = _stored(run, found) if present else None
    lost = count_lost(found.changes, stored, evolution, found.counts)
    rows = build_rows(found.changes, found.compiled, evolution, found.counts, stored)
    refuse_folders(rows, table, evolution.keys)
    return rows, lost


def _stored(run: Run, found: PreparedBatch) -> DataFrame | None:
    """Return the table as it stands, where partial rows, deleted ones or a truncate look back at it."""
    if not found.counts.looks_back:
        return None
    path = run.path(found.compiled.table)
    if found.compiled.marks_deleted:  # rows that stay keep all that they have
        return read_all(run.spark, path)
    return read_columns(run.spark, path, stored_columns(found.compiled, found.evolution))


def commit_rows(run: Run, found: PreparedBatch, rows: DataFrame, entry: LedgerEntry) -> Instant:
    """Commit rows with their account; the whole table where one of its columns cannot be widened in place.

    The catalog, where there is one, learns of it.
    """
    table = found.compiled.table
    path, first = run.path(table), found.standing.columns is None
    if found.rewrites:
        run.progress(table.name, f"writing all of it anew, for {', '.join(found.rewrites)}")
        rows = merge(read_all(run.spark, path), rows, found.compiled)
    rewrites = bool(found.rewrites)
    instant = write(rows, table, path, found.key_names, entry, first=first, rewrites=rewrites)
    if run.settings.lake.database:
        register(run.spark, run.settings.lake.database, table.name, path)
    return instant


def account(run: Run, last: LedgerEntry | None, found: PreparedBatch) -> LedgerEntry:
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
