"""From pending offsets to a commit: the steps shared by runs, plans and replays."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.row_model import History, SoftDelete, Upsert
from ingest.errors import SchemaNotFoundError
from ingest.hudi import fixed
from ingest.hudi.class_path import check_class_path
from ingest.hudi.options import Operation
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import TopicRanges
from ingest.names import Partition, Reading, SchemaId
from ingest.order.chosen import OUTSIDE, chosen_rows, mark_outside
from ingest.order.rewrite import merge
from ingest.order.rows import build_rows, count_lost, stored_columns
from ingest.order.tombstones import stored_deletes
from ingest.order.versions import build_versions, count_marks, without_marks
from ingest.run.batch.batch import decoded_batch, read_batch
from ingest.run.batch.chosen import check_complete, with_row_sql
from ingest.run.batch.compacted_topics import refuse_compacted
from ingest.run.batch.keys import check_keys, refuse_folders
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.schemas import PayloadSchemas, fetch_written, in_met_order
from ingest.run.batch.shards import check_topic_key, refuse_shared_keys
from ingest.run.batch.start import last_of
from ingest.run.batch.table_state import TableState, known_ids
from ingest.run.work.context import Run
from ingest.spark.catalog import register
from ingest.sql.template import ident
from ingest.tables import SOURCE, TableConfig


def fetch_known(
    run: Run,
    table: TableConfig,
    ranges: TopicRanges,
    watermarks: Mapping[Partition, Watermark],
    met_ids: Sequence[SchemaId],
) -> PayloadSchemas:
    """Fetch the schemas that can be known before the ranges are read."""
    if table.source_table:
        refuse_compacted(run.settings.kafka, table.topic, f"{table.name}.toml")
    retained = {partition: (mark.begin, mark.end) for partition, mark in watermarks.items()}
    try:
        keys, values = fetch_written(run.settings, run.registry, table, ranges.spans(), retained)
    except SchemaNotFoundError as error:
        if not met_ids:
            raise
        todo = "The table has read it before, so it was deleted: register it again"
        raise attrs.evolve(error, todo=todo) from None
    return keys, in_met_order(run.registry, table, values, met_ids)


@contextmanager
def prepared(
    run: Run, table: TableConfig, state: TableState, ranges: TopicRanges, schemas: PayloadSchemas
) -> Iterator[PreparedBatch]:
    """Read ranges, decode them and fit them to the table: everything but the commit."""
    run.lake.table(table).check_storage(table.name)
    run.enter(table, Reading(ranges.span))
    limit = run.limits.of(table)
    batch = read_batch(run.spark, run.settings.kafka, ranges, table, state, limit=limit)
    if batch.plans is None and limit is None:  # few messages are sooner read again than kept
        batch = attrs.evolve(batch, messages=run.reads.share(table, ranges, batch.messages))
    with decoded_batch(batch, run.registry, schemas) as result:
        yield completed(run, result)


def completed(run: Run, batch: PreparedBatch) -> PreparedBatch:
    """Fit the SQL of the table file to a decoded batch, and count the deletes of its tombstones."""
    return with_tombstones(run, with_row_sql(run.spark, batch))


def with_tombstones(run: Run, batch: PreparedBatch) -> PreparedBatch:
    """Count the stored rows that only a tombstone deletes."""
    if not batch.counts.bare_tombstones or batch.evolution.failing or not batch.compiled.merges_tombstones:
        return batch
    stored = _stored(run, batch) if batch.state.exists else None
    if stored is None:
        return batch
    deletes = stored_deletes(batch.changes, stored, batch.compiled, batch.evolution)
    counts = batch.counts.with_tombstone_deletes(deletes.where("is_alone").count())
    return attrs.evolve(batch, counts=counts)


def rows_to_write(run: Run, batch: PreparedBatch) -> tuple[PreparedBatch, DataFrame, int]:
    """Return a batch's rows as the table takes them, and the number of rows with a value that is lost.

    The batch counts the rows that the condition of the table file leaves out.

    Raises `EvolutionError` and others for rows that must not be written.
    """
    table, evolution, columns = batch.compiled.table, batch.evolution, batch.state.columns
    stored_table = run.lake.table(table)
    check_topic_key(batch, stored_table.key_columns())
    check_topic_key(batch, batch.state.ahead.key_names if batch.state.ahead else ())
    stored_table.check_key(table, batch.key_names)
    last = last_of(stored_table, table)
    masks = last.masks if last else {}
    fixed.check(table, fixed.find_mask_changes(table, batch.compiled.masks, masks, columns or ()))
    evolution.check()
    check_keys(table, evolution.keys, evolution.columns, columns or {})
    types = {column.name: column.spark for column in (*evolution.keys, *evolution.columns)}
    check_class_path(run.spark, table, {**(columns or {}), **types})
    stored = _stored(run, batch) if batch.state.exists else None
    if batch.compiled.model == History():
        batch, rows, lost = _versions(batch, stored, last)
    else:
        lost = count_lost(batch.changes, stored, batch.compiled, evolution, batch.counts)
        rows = _built(batch, stored)
        if table.rows.where is not None:
            batch, rows, lost = _chosen(batch, rows, lost)
    refuse_folders(rows, table, evolution.keys)
    if table.source and table.shards.keys == "unique" and columns is not None:
        refuse_shared_keys(rows, stored_table.live_rows() if batch.state.exists else None, batch)
    return batch, rows, lost


def _versions(
    batch: PreparedBatch, stored: DataFrame | None, last: LedgerEntry | None
) -> tuple[PreparedBatch, DataFrame, int]:
    """Return the versions to write; count those outside the condition, and those with lost values."""
    counts = batch.counts
    rows = build_versions(
        batch.changes,
        batch.compiled,
        batch.evolution,
        counts,
        stored=stored,
        truncates=last.truncates if last else (),
        may_repeat=_may_repeat(batch, last),
        has_tombstones=last is not None and last.tombstone_ends,
    )
    marks = count_marks(rows, batch.compiled, counts)
    counted = attrs.evolve(batch, counts=counts.with_outside(marks.outside))
    return counted, without_marks(rows), marks.lost


def _may_repeat(batch: PreparedBatch, last: LedgerEntry | None) -> bool:
    """Tell whether the table may have messages of this batch: a run that goes on has only later offsets."""
    applied = last.high_offsets if last else {}
    return batch.starts is None or any(
        start < applied.get(partition, 0) for partition, start in batch.starts.items()
    )


def _chosen(batch: PreparedBatch, rows: DataFrame, lost: int) -> tuple[PreparedBatch, DataFrame, int]:
    """Apply the condition of the table file, and count the rows outside it.

    Raises `DecodeError` for a row that enters without all its values: the table has none of a row outside.
    """
    compiled = batch.compiled
    marked = mark_outside(rows, compiled)
    if lost and compiled.model == Upsert():
        check_complete(marked, batch)
        lost = 0
    (counts,) = marked.agg(F.count_if(OUTSIDE).alias("outside")).collect()
    batch = attrs.evolve(batch, counts=batch.counts.with_outside(counts.outside))
    return batch, chosen_rows(marked, compiled), lost


def _built(batch: PreparedBatch, stored: DataFrame | None) -> DataFrame:
    """Return the rows to write, by the session's plans if they depend on a small batch only."""
    compiled, evolution, counts = batch.compiled, batch.evolution, batch.counts

    def build(changes: DataFrame) -> DataFrame:
        return build_rows(changes, compiled, evolution, counts, stored)

    if batch.plans is None or counts.looks_back:
        return build(batch.changes)
    inputs = (compiled, evolution.keys, evolution.columns, bool(counts.partials))
    return batch.plans.apply(f"rows of {compiled.table.name}", inputs, build, batch.changes)


def _stored(run: Run, batch: PreparedBatch) -> DataFrame | None:
    """Return the stored rows if the batch depends on them: as in a history, or for partial rows."""
    model = batch.compiled.model
    if model != History() and not batch.counts.looks_back:
        return None
    table, source = run.lake.table(batch.compiled.table), batch.compiled.table.source
    is_whole = model in (History(), SoftDelete())
    rows = table.rows() if is_whole else table.live_rows()
    if source:  # positions of two topics cannot be compared
        rows = rows.where(F.col(SOURCE) == source)
    if is_whole:  # a version ends by any column, and a soft-deleted row keeps all its values
        return rows
    names = stored_columns(batch.compiled, batch.evolution)
    return rows.select(*(str(ident(name)) for name in names if name in rows.columns))


def commit_rows(run: Run, batch: PreparedBatch, rows: DataFrame, entry: LedgerEntry) -> LedgerEntry:
    """Commit rows with their ledger entry; rewrite the table where a column cannot be widened in place.

    Registers the table in the catalog, if there is one.
    """
    table = batch.compiled.table
    stored = run.lake.table(table)
    if batch.rewrites:
        run.enter(table, f"rewriting the table, for {', '.join(batch.rewrites)}")
        rows = merge(stored.rows(), rows, batch.compiled)
    committed = stored.commit(rows, table, batch.key_names, _operation(batch), entry)
    if run.settings.lake.database:
        register(stored, run.settings.lake.database, table.name)
    return committed


def _operation(batch: PreparedBatch) -> Operation:
    if batch.rewrites:
        return "overwrite"
    return "load" if batch.state.columns is None else "upsert"


def account(run: Run, last: LedgerEntry | None, batch: PreparedBatch) -> LedgerEntry:
    """Return the ledger entry of a commit: the batch's counts, at the offsets of the table's last commit."""
    table, counts = batch.compiled.table, batch.counts
    newest_ms = (last.max_source_ms if last else None, counts.max_source_ms)
    return LedgerEntry(
        run_id=run.run_id,
        topic=table.topic,
        next_offsets=last.next_offsets if last else {},
        high_offsets=last.high_offsets if last else {},
        schema_ids=batch.schema_ids,
        counters=counts.counters(),
        max_source_ms=max((ms for ms in newest_ms if ms is not None), default=None),
        known_ids=batch.met_after(known_ids(last)),
        topic_id=last.topic_id if last else "",
        start_offsets=last.next_offsets if last else {},
        truncates=tuple(sorted({*(last.truncates if last else ()), *counts.truncates})),
        tombstone_ends=(last is not None and last.tombstone_ends) or batch.has_tombstone_ends,
        masks={**(last.masks if last else {}), **fixed.recorded_masks(table, batch.compiled.masks)},
        other_topics=last.other_topics if last else {},
    )
