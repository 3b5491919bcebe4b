"""Messages that are applied together: read, decoded and folded until all their schemas are known."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import attrs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.compile.event import DELETED
from ingest.compile.evolve import Evolution, Present, evolve
from ingest.compile.table import CompiledTable
from ingest.decode.diagnosis import explain, unknown_frames, unknown_ids
from ingest.decode.events import decode_events
from ingest.errors import DecodeError
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.read import count_slices, read
from ingest.names import SchemaId
from ingest.order.counts import BatchCounts, count_batch
from ingest.order.latest import latest_by_key, rejected
from ingest.registry import Registry
from ingest.run.keys import with_key_rules
from ingest.run.messages import written_in
from ingest.run.schemas import PayloadSchemas, compile_written, fetch_by_id
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig


@attrs.frozen
class Batch:
    """Messages, and how to see those at some places (`partition, offset`) again: with time and headers."""

    messages: DataFrame
    again: Callable[[DataFrame], DataFrame]
    is_bounded: bool = True
    """Whether too many rejects stop it."""


@attrs.frozen
class TableState:
    """A table as it stands: its columns (None before a first commit), and the schemas that it has met."""

    columns: Present
    known: tuple[SchemaId, ...] = ()
    expects_partial: bool = False
    """Whether rows that lack values are likely, so that one pass completes them."""


@attrs.frozen
class PreparedBatch:
    """A batch that was decoded and folded: what to write, and the messages to set aside, if any."""

    compiled: CompiledTable
    changes: DataFrame
    counts: BatchCounts
    evolution: Evolution
    rejects: DataFrame | None
    standing: TableState

    @property
    def rewrites(self) -> tuple[str, ...]:
        """The columns for which all of the table is written anew: by type, or as `delete` was changed."""
        held = self.standing.columns
        changed = held is not None and (DELETED in held) != self.compiled.marks_deleted
        return (*self.evolution.rewrites, *([DELETED] if changed else []))

    @property
    def key_names(self) -> list[str]:
        """The columns of the record key."""
        return [name for name, _ in self.compiled.key_columns]


def read_batch(spark: SparkSession, kafka: KafkaSettings, ranges: TopicRanges) -> Batch:
    """Read ranges of a topic; those at places again are read from the narrowest ranges that hold them."""
    servers, properties = kafka.bootstrap_servers, kafka.properties
    cores = spark.sparkContext.defaultParallelism

    def again(places: DataFrame) -> DataFrame:
        narrow = _narrowed(ranges, places)
        slices = count_slices(narrow, cores)
        whole = read(spark, narrow, servers, properties, min_partitions=slices, headers=True)
        return whole.join(places, ["partition", "offset"], "left_semi")

    slices = count_slices(ranges, cores)
    return Batch(read(spark, ranges, servers, properties, min_partitions=slices), again)


def _narrowed(ranges: TopicRanges, places: DataFrame) -> TopicRanges:
    ends = places.groupBy("partition").agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
    rows = ends.collect()
    found = sorted((row["partition"], row["first"], row["last"] + 1) for row in rows)
    return TopicRanges(ranges.topic, tuple(OffsetRange(ranges.topic, *one) for one in found))


@contextmanager
def folded(
    batch: Batch,
    table: TableConfig,
    registry: Registry,
    written: PayloadSchemas,
    standing: TableState,
) -> Iterator[PreparedBatch]:
    """Decode and fold a batch in one pass, fit it to the table, and keep the result until it is written.

    Rejected messages are looked at again.  The whole batch is, where these name schemas that were not known
    before (no versions of the subject, but in the registry; or held by the messages, and not sampled), where
    rows lack values and none were expected to, or where a policy sets a schema's changes aside.  Raises
    `DecodeError` for too many rejects.
    """
    keys, values = written
    expects_partial = standing.expects_partial
    refused: dict[SchemaId, str] = {}
    while True:
        compiled = with_key_rules(compile_written(table, keys, values))
        compiled = attrs.evolve(compiled, expects_partial=expects_partial, refused=dict(refused))
        changes = latest_by_key(decode_events(batch.messages, compiled), compiled)
        try:
            counts = count_batch(changes, compiled)
            if counts.partials and not compiled.completes:
                expects_partial = True
                continue
            with _held(batch, changes, counts, table) as rejects:
                more = (
                    ((), ()) if rejects is None else _fetch_more(registry, rejects, compiled, (keys, values))
                )
                if not any(more):
                    evolution = evolve(compiled, _met(compiled, counts), standing.columns, standing.known)
                    if not evolution.refused:
                        if rejects is not None and batch.is_bounded and not evolution.failing:
                            _check_bounds(rejects, compiled, counts)
                        yield PreparedBatch(compiled, changes, counts, evolution, rejects, standing)
                        return
                    refused |= evolution.refused
        finally:
            changes.unpersist()
        # The subject's own newest key stays the last one: it names the key columns.
        keys, values = (*more[0], *keys), (*values, *more[1])


def _met(compiled: CompiledTable, counts: BatchCounts) -> tuple[SchemaId, ...]:
    """Return the schemas that a batch brings; what versions of no event of the table wrote is rejected."""
    return (*counts.schema_ids, *(one for one in counts.rejected_ids if one in compiled.misfits))


@contextmanager
def _held(
    batch: Batch, changes: DataFrame, counts: BatchCounts, table: TableConfig
) -> Iterator[DataFrame | None]:
    """Give the rejected messages, if any; as many as can be set aside are held for several looks."""
    if not counts.rejected:
        yield None
        return
    rejects = batch.again(rejected(changes))
    if counts.rejected > table.rejects.max_rows:
        yield rejects
        return
    rejects = rejects.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield rejects
    finally:
        rejects.unpersist()


def _fetch_more(
    registry: Registry, rejects: DataFrame, compiled: CompiledTable, known: PayloadSchemas
) -> PayloadSchemas:
    """Find the schemas of rejected records that are no versions of a subject, or that were not sampled."""
    keys, values = known
    if compiled.table.format == "avro":
        named = zip(unknown_ids(rejects, compiled), known, strict=True)
        more = [
            fetch_by_id(registry, set(ids).difference(one.schema_id for one in tried)) for ids, tried in named
        ]
        return more[0], more[1]
    if any(not one.frame for one in values):
        return (), ()  # declared: what a message holds is not looked at
    topic = compiled.table.topic
    new_keys = written_in(unknown_frames(rejects, "key", compiled.key), f"keys of topic {topic}", keys)
    frames = unknown_frames(rejects, "value", compiled.value)
    return new_keys, written_in(frames, f"values of topic {topic}", values)


def _check_bounds(rejects: DataFrame, compiled: CompiledTable, counts: BatchCounts) -> None:
    """Stop a run that would set aside more than the table file allows, or a truncate that must stop it.

    Raises `DecodeError` for the first rejected record.
    """
    if compiled.table.target.truncate == "fail":
        _check_truncates(rejects, compiled)
    bounds = compiled.table.rejects
    allowed = bounds.allowed(counts.read)
    if counts.rejected <= allowed:
        return
    first = rejects.orderBy("partition", "offset").limit(1)
    row = explain(first, compiled).collect()[0]
    bound = (
        f"{counts.rejected:,} of {counts.read:,} messages are rejected, and [rejects] allows {allowed:,} "
        f"(max_rows = {bounds.max_rows}, max_share = {bounds.max_share:g})"
    )
    topic = compiled.table.topic
    raise DecodeError(
        topic, row.partition, row.offset, row.error, counts.rejected, bound if bounds.max_rows else ""
    )


def _check_truncates(rejects: DataFrame, compiled: CompiledTable) -> None:
    truncates = explain(rejects, compiled).where("reason = 'truncate'")
    for row in truncates.orderBy("partition", "offset").limit(1).collect():
        raise DecodeError(compiled.table.topic, row.partition, row.offset, row.error)
