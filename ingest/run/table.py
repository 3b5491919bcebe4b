"""One run of one table: the one place that sees every room.

From the offsets in the table's last commit to the ends seen at the start: read the messages, decode each
with its writer's schema, keep the newest change of each key, fit it to the table, commit rows and offsets.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Protocol

import attrs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from ingest.compile.evolve import Evolution, evolve
from ingest.compile.sparktype import SparkType, parse_ddl
from ingest.compile.table import CompiledTable
from ingest.decode.events import decode_events
from ingest.dialects import DIALECTS
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import read as read_ledger
from ingest.hudi.present import present as present_schema
from ingest.hudi.present import read_columns
from ingest.hudi.upsert import write
from ingest.kafka.ranges import TopicRanges, Watermark, plan_ranges
from ingest.kafka.read import count_slices, read
from ingest.names import Partition
from ingest.order.latest import fold, rejected
from ingest.order.settle import count_lost, settle, stored_columns
from ingest.order.tally import PARTIALS, Tally, tally
from ingest.registry import Registry
from ingest.run.keys import check_keys, refuse_keys
from ingest.run.rejected import compile_written, explain_reject, fetch_more
from ingest.run.report import TableOutcome
from ingest.run.schemas import Sides, fetch_written
from ingest.settings import Settings
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

    def path(self, table: Table) -> str:
        """Return where the table lies."""
        return self.settings.lake.table_path(table.table)


def run_table(run: Run, table: Table, watermarks: Mapping[Partition, Watermark]) -> TableOutcome:
    """Bring one table up to date.  Raises `IngestError`; then nothing was committed."""
    started = time.monotonic()
    last = read_ledger(run.spark, run.path(table))
    ranges = _plan(table, last, watermarks, run.max_offsets)
    if ranges.is_empty:
        return TableOutcome(
            table.table, table.topic, "idle", ranges=ranges, seconds=time.monotonic() - started
        )
    retained = {partition: (mark.begin, mark.end) for partition, mark in watermarks.items()}
    written = fetch_written(run.settings, run.registry, table, ranges.spans(), retained)
    expects = DIALECTS[table.dialect].often_partial or bool(last and last.counters.get(PARTIALS))
    with _folded(run, table, ranges, written, expects_partial=expects) as (compiled, folded, counts):
        present = _present(run, table)
        evolution = evolve(compiled, counts.schema_ids, present)
        check_keys(table, evolution.keys, evolution.columns, present or {})
        stored = _stored(run, table, compiled, evolution, counts) if present else None
        lost = count_lost(folded, stored, evolution, counts)
        rows = settle(folded, compiled, evolution, counts, stored)
        refuse_keys(rows, table, evolution.keys)
        run.progress(table.table, "writing")
        entry = _entry(run, table, last, ranges, counts)
        key_names = [name for name, _ in compiled.key_columns]
        instant = write(rows, table, run.path(table), key_names, entry, first=present is None)
    return TableOutcome(
        table.table, table.topic, "committed", instant, ranges, counts, evolution.changes,
        time.monotonic() - started, lost=lost,
    )  # fmt: skip


def _plan(
    table: Table,
    last: LedgerEntry | None,
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None,
) -> TopicRanges:
    committed = last.next_offsets if last else None
    high = last.high_offsets if last else {}
    return plan_ranges(table.topic, committed, high, watermarks, max_offsets)


@contextmanager
def _folded(
    run: Run, table: Table, ranges: TopicRanges, written: Sides, *, expects_partial: bool
) -> Iterator[tuple[CompiledTable, DataFrame, Tally]]:
    """Decode and fold the range, in one pass over Kafka, and hold the result while it is written.

    The range is read again only to look at rejected records, and if these name schemas that were not known
    before: no versions of the subject, but in the registry; or held by the messages, and not sampled; or if
    rows lack values where none were expected.  Raises `DecodeError` for the first record that stays rejected.
    """
    run.progress(table.table, f"reading {ranges.span:,} offsets")
    kafka = run.settings.kafka
    slices = count_slices(ranges, run.spark.sparkContext.defaultParallelism)
    messages = read(run.spark, ranges, kafka.bootstrap_servers, kafka.properties, min_partitions=slices)
    keys, values = written
    while True:
        compiled = compile_written(table, keys, values, messages)
        compiled = attrs.evolve(compiled, expects_partial=expects_partial)
        folded = fold(decode_events(messages, compiled), compiled)
        folded = folded.persist(StorageLevel.MEMORY_AND_DISK)
        try:
            counts = tally(folded, compiled)
            if counts.partials and not compiled.completes:
                expects_partial = True
                continue
            if not counts.rejected:
                yield compiled, folded, counts
                return
            rejects = messages.join(rejected(folded), ["partition", "offset"], "left_semi")
            more_keys, more_values = fetch_more(run.registry, rejects, compiled, (keys, values))
            if not more_keys and not more_values:
                raise explain_reject(kafka, rejects, compiled, counts.rejected)
        finally:
            folded.unpersist()
        # The subject's own newest key stays the last one: it names the key columns.
        keys, values = (*more_keys, *keys), (*values, *more_values)


def _present(run: Run, table: Table) -> dict[str, SparkType] | None:
    columns = present_schema(run.spark, run.path(table))
    return None if columns is None else {name: parse_ddl(kind) for name, kind, _ in columns}


def _stored(
    run: Run, table: Table, compiled: CompiledTable, evolution: Evolution, counts: Tally
) -> DataFrame | None:
    """Return the table as it stands, where partial rows or a truncate look back at it."""
    if not counts.unfilled and counts.truncated_at is None:
        return None
    return read_columns(run.spark, run.path(table), stored_columns(compiled, evolution))


def _entry(
    run: Run, table: Table, last: LedgerEntry | None, ranges: TopicRanges, counts: Tally
) -> LedgerEntry:
    """Return the account that the commit will hold."""
    ends = ranges.end_offsets()
    before = last.max_source_ms if last else None
    moments = [moment for moment in (before, counts.max_source_ms) if moment is not None]
    high = dict(last.high_offsets) if last else {}
    return LedgerEntry(
        run_id=run.run_id,
        topic=table.topic,
        next_offsets=ends,
        high_offsets={partition: max(end, high.get(partition, 0)) for partition, end in ends.items()},
        schema_ids=tuple(one for one in counts.schema_ids if one > 0),
        counters=counts.counters(),
        max_source_ms=max(moments, default=None),
    )
