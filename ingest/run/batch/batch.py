"""Messages that are applied together, decoded again until all their schemas are known."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import attrs
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.compile.evolve import Evolution, evolve
from ingest.compile.payload import WriterSchema
from ingest.compile.policy import ALL_ALLOWED, Refused
from ingest.compile.table import CompiledTable
from ingest.decode.diagnosis import unknown_by_frame, unknown_frames, unknown_ids
from ingest.decode.events import decode_events
from ingest.decode.framing import has_framings
from ingest.decode.large import unread_value
from ingest.decode.rejects import Reason
from ingest.errors import DecodeError
from ingest.kafka.ranges import TopicRanges
from ingest.kafka.read import OFFSETS_PER_TASK, count_slices, read
from ingest.names import Partition, SchemaId
from ingest.order.batch_counts import BatchCounts
from ingest.order.columns import select
from ingest.order.latest import as_changes, latest_by_key, reduce_few, rejected, sorted_events
from ingest.order.models import count_batch
from ingest.registry import Registry
from ingest.run.batch.again import read_at, read_topic
from ingest.run.batch.keys import check_masked_names, with_key_rules
from ingest.run.batch.messages import written_in
from ingest.run.batch.own_messages import own_messages
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.schemas import PayloadSchemas, compile_written, fetch_by_frame_id, fetch_by_id
from ingest.run.batch.table_state import TableState
from ingest.run.work.memory import ReadLimit
from ingest.settings import KafkaSettings
from ingest.spark.java import uses_internals
from ingest.spark.planned_queries import Plans, plans_of
from ingest.sql.template import sql
from ingest.tables import Feed


@attrs.frozen
class Batch:
    """Messages for one table.

    `again` reads the messages at the given coordinates (`partition`, `offset`) once more, with timestamp and
    headers.
    """

    feed: Feed
    state: TableState
    messages: DataFrame
    again: Callable[[DataFrame], DataFrame]
    is_bounded: bool = True
    """Whether too many rejects stop it."""
    plans: Plans | None = attrs.field(default=None, eq=False)
    """The session's planned queries, if the messages are so few that one task reduces them."""
    whole_topic: Callable[[], DataFrame] | None = attrs.field(default=None, eq=False)
    """Reads all messages of the topic, or None if these are messages of a known table."""
    starts: Mapping[Partition, int] | None = None
    """The first offset of each partition, or None for messages of any offsets."""
    span: int = 0
    """The number of offsets, as far as it is known."""


@attrs.frozen
class Assumptions:
    """The premises of one attempt to decode a batch, which it confirms or disproves.

    `refused` maps the schemas that a policy rejects to the reason.
    """

    keys: tuple[WriterSchema, ...]
    values: tuple[WriterSchema, ...]
    refused: Refused = attrs.field(default=ALL_ALLOWED, hash=False)


@attrs.frozen
class Attempt:
    """A batch, decoded and reduced to one row per key under assumptions, and its rejected messages if any."""

    batch: Batch
    assumptions: Assumptions
    compiled: CompiledTable
    changes: DataFrame
    counts: BatchCounts
    rejects: DataFrame | None

    @cached_property
    def evolution(self) -> Evolution:
        """The table's columns, fitted to the schemas of the batch."""
        state = self.batch.state
        schema_ids = (*self.counts.schema_ids, *self._misfits())
        return evolve(self.compiled, schema_ids, state.columns, state.met_ids, self.assumptions.refused)

    def _misfits(self) -> tuple[SchemaId, ...]:
        """Return the schemas of rejected messages that change what the topic holds: not events of the table.

        A few stray messages are rejected like other unreadable ones.  As many as [rejects] does not allow are
        a change of the topic, unless the table file says what to do about any.
        """
        table = self.batch.feed.table
        is_stray = (
            self.counts.rejected <= table.rejects.allowed(self.counts.read) or not self.batch.is_bounded
        )
        if is_stray and "envelope-changed" not in table.evolution:
            return ()
        return tuple(
            schema_id for schema_id in self.counts.rejected_ids if schema_id in self.compiled.misfits
        )


def read_batch(
    spark: SparkSession,
    kafka: KafkaSettings,
    ranges: TopicRanges,
    feed: Feed,
    state: TableState,
    *,
    limit: ReadLimit | None = None,
) -> Batch:
    """Read ranges of a topic.  A second look reads only the narrowest ranges with the given coordinates.

    With a limit, the client expands no record beyond the ranges, and no record at all if the limit has no
    offsets.
    """
    if limit and not limit.offsets:
        return _unread_batch(spark, ranges, feed, state)
    if limit:
        kafka = attrs.evolve(kafka, properties={**kafka.properties, "max.poll.records": f"{ranges.span}"})
    most_bytes = feed.table.rejects.max_record_bytes

    def again(coordinates: DataFrame) -> DataFrame:
        return read_at(spark, kafka, ranges, coordinates, most_bytes)

    slices, framings = count_slices(ranges, spark.sparkContext.defaultParallelism), has_framings(feed.table)
    messages = read(spark, ranges, kafka, min_partitions=slices, headers=framings, most_bytes=most_bytes)
    is_planned = ranges.span <= OFFSETS_PER_TASK and not feed.table.source_table and uses_internals(spark)
    return Batch(
        feed,
        state,
        messages,
        again,
        plans=plans_of(spark) if is_planned else None,
        whole_topic=lambda: read_topic(spark, kafka, feed.topic),
        starts=ranges.start_offsets(),
        span=ranges.span,
    )


def _unread_batch(spark: SparkSession, ranges: TopicRanges, feed: Feed, state: TableState) -> Batch:
    """Return a batch of one record, which is rejected without reading it."""
    (record,) = (part for part in ranges.ranges if part.start < part.end)
    columns = {
        "partition": sql("{partition}", partition=record.partition),
        "offset": sql("id"),
        "timestamp": sql("cast(null as timestamp)"),
        "key": sql("cast(null as binary)"),
        "value": unread_value(),
        "headers": sql("cast(null as array<struct<key: string, value: binary>>)"),
    }
    offsets = spark.range(record.start, record.end, numPartitions=1)
    messages = select(offsets, columns)

    def again(coordinates: DataFrame) -> DataFrame:
        return messages.join(coordinates, ["partition", "offset"], "left_semi")

    own = messages if has_framings(feed.table) else messages.drop("headers")
    return Batch(feed, state, own, again, starts=ranges.start_offsets())


@contextmanager
def decoded_batch(batch: Batch, registry: Registry, schemas: PayloadSchemas) -> Iterator[PreparedBatch]:
    """Decode a batch and fit it to its table.  The result is valid until the context ends.

    Decodes again while an attempt disproves its assumptions.  Raises `DecodeError` for too many rejects.
    """
    others = BatchCounts()
    if batch.feed.table.source_table:
        met_ids = batch.state.met_ids
        own = own_messages(
            batch.messages, batch.whole_topic, batch.feed, registry, schemas[1], met_ids=met_ids
        )
        batch, schemas, others = attrs.evolve(batch, messages=own.messages), ((), own.values), own.others
    assumptions: Assumptions | None = Assumptions(*schemas)
    while assumptions is not None:
        with attempt(batch, assumptions) as result:
            assumptions = revised(result, registry)
            if assumptions is None:
                accepted = _accepted(result)
                yield attrs.evolve(accepted, counts=accepted.counts.with_others(others))


@contextmanager
def attempt(batch: Batch, assumptions: Assumptions) -> Iterator[Attempt]:
    """Decode a batch once.  Its rejected messages stay cached until the context ends."""
    compiled = with_key_rules(compile_written(batch.feed, assumptions.keys, assumptions.values))
    check_masked_names(compiled)
    changes = _reduced(batch, compiled, assumptions.refused)
    counts = count_batch(changes, compiled, batch.plans, batch.state.truncated_at)
    with _rejected_messages(batch, changes, counts) as rejects:
        yield Attempt(batch, assumptions, compiled, changes, counts, rejects)


def _reduced(batch: Batch, compiled: CompiledTable, refused: Refused) -> DataFrame:
    """Decode messages, and keep the newest change of each key."""
    if batch.plans is None:
        return latest_by_key(decode_events(batch.messages, compiled, refused), compiled, batch.span)
    apply, name = batch.plans.apply, batch.feed.name
    events = apply(
        f"events of {name}",
        (compiled, dict(refused)),
        lambda messages: sorted_events(decode_events(messages, compiled, refused), compiled),
        batch.messages,
    )
    reduced = reduce_few(events, compiled)
    return apply(f"changes of {name}", compiled, lambda rows: as_changes(rows, compiled), reduced)


def revised(attempt: Attempt, registry: Registry) -> Assumptions | None:
    """Return corrected assumptions, or None if the batch confirms the attempt's.

    Two can be wrong.  Not all schemas are known if rejects name others (in the registry but not a version of
    the subject, or inside messages that were not sampled).  Not all are allowed if a policy rejects one.
    """
    assumptions = _named_by_frames(attempt, registry)
    if assumptions != attempt.assumptions:
        return assumptions
    keys, values = _missing_schemas(attempt, registry)
    if keys or values:
        # The subject's own newest key stays the last one: it names the key columns.
        return attrs.evolve(
            assumptions, keys=(*keys, *assumptions.keys), values=(*assumptions.values, *values)
        )
    if attempt.evolution.refused:
        return attrs.evolve(assumptions, refused={**assumptions.refused, **attempt.evolution.refused})
    return None


def _accepted(attempt: Attempt) -> PreparedBatch:
    """Return the result of an attempt that confirmed its assumptions."""
    batch = PreparedBatch(
        attempt.changes,
        attempt.compiled,
        attempt.evolution,
        attempt.counts,
        attempt.rejects,
        attempt.batch.state,
        attempt.assumptions.refused,
        attempt.batch.plans,
        starts=attempt.batch.starts,
    )
    if attempt.batch.is_bounded and not batch.evolution.failing:
        _check_bounds(batch)
    return batch


@contextmanager
def _rejected_messages(batch: Batch, changes: DataFrame, counts: BatchCounts) -> Iterator[DataFrame | None]:
    """Give the rejected messages, if any, cached unless they exceed `max_rows`."""
    if not counts.rejected:
        yield None
        return
    rejects = batch.again(rejected(changes))
    # So many stop the run after a look at the first one: caching them all would only fill the disk.
    if counts.rejected > batch.feed.table.rejects.max_rows:
        yield rejects
        return
    rejects = rejects.persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield rejects
    finally:
        rejects.unpersist()


def _missing_schemas(attempt: Attempt, registry: Registry) -> PayloadSchemas:
    """Find the schemas of rejected messages that are no version of a subject, or that were not sampled."""
    rejects, compiled, keys = attempt.rejects, attempt.compiled, attempt.assumptions.keys
    values = attempt.assumptions.values
    if rejects is None or compiled.table.source_table:  # `own_messages` has fetched them
        return (), ()
    if compiled.table.format == "avro":
        key_ids, value_ids = unknown_ids(rejects, compiled)
        return _fetch_missing(registry, key_ids, keys), _fetch_missing(registry, value_ids, values)
    if any(not schema.frame for schema in values):
        return (), ()  # a declared schema overrides those inside the messages
    topic = compiled.feed.topic
    new_keys = written_in(unknown_frames(rejects, "key", compiled.key), f"keys of topic {topic}", keys)
    frames = unknown_frames(rejects, "value", compiled.value)
    return new_keys, written_in(frames, f"values of topic {topic}", values)


def _named_by_frames(attempt: Attempt, registry: Registry) -> Assumptions:
    """Return the assumptions with the schemas that rejects name by a GUID, a globalId or the like."""
    if attempt.rejects is None:
        return attempt.assumptions
    key_ids, value_ids = unknown_by_frame(attempt.rejects, attempt.compiled)
    keys, new_keys = fetch_by_frame_id(registry, key_ids, attempt.assumptions.keys)
    values, new_values = fetch_by_frame_id(registry, value_ids, attempt.assumptions.values)
    return attrs.evolve(attempt.assumptions, keys=(*new_keys, *keys), values=(*values, *new_values))


def _fetch_missing(
    registry: Registry, schema_ids: tuple[SchemaId, ...], fetched: tuple[WriterSchema, ...]
) -> tuple[WriterSchema, ...]:
    return fetch_by_id(registry, set(schema_ids).difference(schema.schema_id for schema in fetched))


def _check_bounds(batch: PreparedBatch) -> None:
    """Stop a run that would reject more than the table file allows, or that meets a forbidden truncate.

    Raises `DecodeError` for the first rejected record.
    """
    table, counts = batch.compiled.table, batch.counts
    if batch.rejects is None:
        return
    if table.target.truncate == "fail":
        _check_reason(batch, batch.rejects, "truncate")
    if table.rejects.too_large == "fail":
        _check_reason(batch, batch.rejects, "too-large")
    bounds = table.rejects
    allowed = bounds.allowed(counts.read)
    if counts.rejected <= allowed:
        return
    first = batch.rejects.orderBy("partition", "offset").limit(1)
    row = batch.explained(first).collect()[0]
    bound = (
        f"{counts.rejected:,} of {counts.read:,} messages are rejected, and [rejects] allows {allowed:,} "
        f"(max_rows = {bounds.max_rows}, max_share = {bounds.max_share:g}, min_rows = {bounds.min_rows})"
    )
    raise DecodeError(
        batch.compiled.feed.topic,
        row.partition,
        row.offset,
        row.error,
        counts.rejected,
        bound if bounds.max_rows else "",
    )


def _check_reason(batch: PreparedBatch, rejects: DataFrame, reason: Reason) -> None:
    """Raise `DecodeError` for the first record that is rejected for a reason."""
    of_reason = batch.explained(rejects).where(F.col("reason") == reason)
    for row in of_reason.orderBy("partition", "offset").limit(1).collect():
        raise DecodeError(batch.compiled.feed.topic, row.partition, row.offset, row.error)
