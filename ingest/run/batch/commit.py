"""From pending offsets to a commit: the steps shared by runs, plans and replays."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import SchemaNotFoundError
from ingest.hudi import fixed
from ingest.hudi.class_path import check_class_path
from ingest.hudi.timeline.ledger import LedgerEntry, known_ids
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import TopicRanges
from ingest.names import Partition, Reading, SchemaId
from ingest.order.changes import Stored
from ingest.order.chosen import INCOMPLETE
from ingest.order.models import model_of
from ingest.order.rewrite import merge
from ingest.order.rows import stored_columns
from ingest.order.tombstones import stored_deletes
from ingest.run.batch.batch import decoded_batch, read_batch
from ingest.run.batch.chosen import check_complete, with_row_sql
from ingest.run.batch.compacted_topics import refuse_compacted
from ingest.run.batch.keys import check_key_texts, check_keys, refuse_folders
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.schemas import PayloadSchemas, fetch_written, in_met_order
from ingest.run.batch.shards import check_topic_key, refuse_shared_keys
from ingest.run.batch.start import last_of
from ingest.run.batch.table_state import TableState
from ingest.run.work.context import Context
from ingest.run.work.writer import Writer
from ingest.sql.template import ident
from ingest.tables import SOURCE, Feed


def fetch_known(
    run: Context,
    feed: Feed,
    ranges: TopicRanges,
    watermarks: Mapping[Partition, Watermark],
    met_ids: Sequence[SchemaId],
) -> PayloadSchemas:
    """Fetch the schemas that can be known before the ranges are read."""
    if feed.table.source_table:
        refuse_compacted(run.settings.kafka, feed.topic, f"{feed.name}.toml")
    retained = {partition: (mark.begin, mark.end) for partition, mark in watermarks.items()}
    try:
        keys, values = fetch_written(run.settings, run.registry, feed, ranges.spans(), retained)
    except SchemaNotFoundError as error:
        if not met_ids:
            raise
        todo = "The table has read it before, so it was deleted: register it again"
        raise attrs.evolve(error, todo=todo) from None
    return keys, in_met_order(run.registry, feed, values, met_ids)


@contextmanager
def prepared(
    run: Context, feed: Feed, state: TableState, ranges: TopicRanges, schemas: PayloadSchemas
) -> Iterator[PreparedBatch]:
    """Read ranges, decode them and fit them to the table: everything but the commit."""
    run.step(feed.table, Reading(ranges.span), "read")
    limit = run.limits.of(feed)
    batch = read_batch(run.spark, run.settings.kafka, ranges, feed, state, limit=limit)
    if batch.plans is None and limit is None:  # few messages are sooner read again than kept
        batch = attrs.evolve(batch, messages=run.reads.share(feed, ranges, batch.messages))
    with decoded_batch(batch, run.registry, schemas) as result:
        yield completed(run, result)


def completed(run: Context, batch: PreparedBatch) -> PreparedBatch:
    """Fit the SQL of the table file to a decoded batch, and count the rows that only a tombstone deletes."""
    batch = with_row_sql(run.spark, batch)
    if not batch.counts.bare_tombstones or batch.evolution.failing or not batch.compiled.merges_tombstones:
        return batch
    stored = _stored_rows(run, batch)
    if stored is None:
        return batch
    deletes = stored_deletes(batch, stored).where("is_alone").count()
    return attrs.evolve(batch, counts=batch.counts.with_tombstone_deletes(deletes))


@attrs.frozen
class NewRows:
    """The rows of a batch as the table takes them."""

    rows: DataFrame
    batch: PreparedBatch
    """The batch, which also counts the rows that the condition of the table file leaves out."""
    lost: int
    """Rows with values that neither the batch nor the table has."""


def rows_to_write(run: Context, batch: PreparedBatch) -> NewRows:
    """Return the rows of a batch, made by its row model.

    Raises `EvolutionError` and others for a batch, or rows, that must not be written.
    """
    last = last_of(run.lake.table(batch.compiled.table), batch.compiled.feed)
    _check_batch(run, batch, last)
    model, stored = model_of(batch.compiled), _stored(run, batch, last)
    marked = model.rows(batch, stored, batch.plans)
    marks = model.marks(batch, marked, stored)
    if marks.lost and INCOMPLETE in marked.columns:
        check_complete(marked, batch)
        marks = attrs.evolve(marks, lost=0)
    rows = model.chosen(marked, batch.compiled)
    _check_rows(run, batch, rows)
    counted = attrs.evolve(batch, counts=batch.counts.with_outside(marks.outside))
    return NewRows(rows, counted, marks.lost)


def _check_batch(run: Context, batch: PreparedBatch, last: LedgerEntry | None) -> None:
    """Refuse keys, masks and columns that do not fit the table, before any row is made."""
    table, evolution, columns = batch.compiled.table, batch.evolution, batch.state.columns or {}
    stored = run.lake.table(table)
    check_topic_key(batch, stored.key_columns())
    check_topic_key(batch, batch.state.ahead.key_names if batch.state.ahead else ())
    stored.check_key(table, batch.key_names)
    masks = last.masks if last else {}
    fixed.check(
        table,
        fixed.find_mask_changes(batch.compiled.masks, batch.compiled.feed.masking.salt_id, masks, columns),
    )
    evolution.check()
    check_keys(table, evolution.keys, evolution.columns, columns)
    check_key_texts(batch.compiled, {*batch.state.met_ids, *batch.counts.schema_ids})
    types = {column.name: column.spark for column in (*evolution.keys, *evolution.columns)}
    check_class_path(run.spark, table, {**columns, **types})


def _check_rows(run: Context, batch: PreparedBatch, rows: DataFrame) -> None:
    """Refuse partition values that are not safe as folders, and keys of rows of other topics."""
    feed, state = batch.compiled.feed, batch.state
    refuse_folders(rows, feed, batch.evolution.keys)
    if feed.source and feed.table.shards.keys == "unique" and state.columns is not None:
        refuse_shared_keys(rows, run.lake.table(feed.table).live_rows() if state.exists else None, batch)


def _stored(run: Context, batch: PreparedBatch, last: LedgerEntry | None) -> Stored:
    """Return the table as the rows to write depend on it."""
    rows = _stored_rows(run, batch)
    if last is None:
        return Stored(rows, may_repeat=batch.starts is None, has_tombstones=False)
    high = last.high_offsets  # a run that continues reads only later offsets
    may_repeat = batch.starts is None or any(at < high.get(p, 0) for p, at in batch.starts.items())
    return Stored(rows, last.truncates, may_repeat, last.tombstone_ends)


def _stored_rows(run: Context, batch: PreparedBatch) -> DataFrame | None:
    """Return the stored rows if the batch depends on them: as in a history, or for partial rows."""
    model = batch.compiled.model
    if not batch.state.exists or not (model.has_versions or batch.counts.looks_back):
        return None
    table, source = run.lake.table(batch.compiled.table), batch.compiled.feed.source
    rows = table.rows() if model.keeps_deletes else table.live_rows()
    if source:  # positions of two topics cannot be compared
        rows = rows.where(F.col(SOURCE) == source)
    if model.keeps_deletes:  # a version ends by any column, and a soft-deleted row keeps all its values
        return rows
    names = stored_columns(batch)
    return rows.select(*(str(ident(name)) for name in names if name in rows.columns))


def commit_rows(writer: Writer, batch: PreparedBatch, rows: DataFrame, entry: LedgerEntry) -> LedgerEntry:
    """Commit rows with their ledger entry.  Rewrite the table if a column cannot be widened in place."""
    if batch.rewrites:
        writer.run.step(writer.table, f"rewriting the table, for {', '.join(batch.rewrites)}")
        rows = merge(writer.stored.rows(), rows, batch.compiled)
    return writer.commit(rows, entry, batch.key_names, overwrites=bool(batch.rewrites))


def account(run: Context, last: LedgerEntry | None, batch: PreparedBatch) -> LedgerEntry:
    """Return the ledger entry of a commit: the batch's counts, at the offsets of the table's last commit."""
    counts = batch.counts
    newest_ms = (last.max_source_ms if last else None, counts.max_source_ms)
    return LedgerEntry(
        run_id=run.run_id,
        topic=batch.compiled.feed.topic,
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
        masks={
            **(last.masks if last else {}),
            **fixed.recorded_masks(batch.compiled.masks, batch.compiled.feed.masking.salt_id),
        },
        other_topics=last.other_topics if last else {},
    )
