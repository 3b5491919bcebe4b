"""The DataFrame of exactly the planned offsets, read from the real broker."""

from typing import Any

import pytest
from confluent_kafka import Producer

from ingest.errors import OffsetError
from ingest.kafka.breaks import Consumed
from ingest.kafka.ranges import OffsetRange, TopicRanges, plan_ranges
from ingest.kafka.read import (
    COLUMNS,
    LARGE_MARK,
    MOST_KEY_BYTES,
    MOST_OFFSETS_PER_TASK,
    OFFSETS_PER_TASK,
    count_slices,
    read,
)
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings
from ingest.spark.java import INTERNALS


def plan(broker: Any, topic: Any, committed: Any = None, bound: int | None = None) -> Any:
    """Plan a run over the topic as it stands."""
    seen = fetch_watermarks(broker.settings, [topic]).of(topic)
    return plan_ranges(topic, Consumed("t", committed), seen, bound)


def values(spark: Any, broker: Any, ranges: TopicRanges, slices: int = 1) -> Any:
    """Read ranges into (partition, offset) → value."""
    frame = read(spark, ranges, broker.settings, min_partitions=slices)
    return {(row.partition, row.offset): bytes(row.value) for row in frame.collect()}


def referee(broker: Any, topic: Any, partitions: int = 1) -> Any:
    """Read the whole topic with another client."""
    return {
        (p, offset): value for p in range(partitions) for offset, value in broker.values(topic, p).items()
    }


def one_range(span: int) -> Any:
    """Make a plan of one partition."""
    topic = Topic("t")
    return TopicRanges(topic, (OffsetRange(topic, Partition(0), 0, span),))


@pytest.mark.parametrize(
    ("span", "slices"),
    [
        (0, 1),
        (100, 1),
        (2 * OFFSETS_PER_TASK, 2),
        (100 * OFFSETS_PER_TASK, 8),
        (20 * MOST_OFFSETS_PER_TASK, 20),
        (10**6 * MOST_OFFSETS_PER_TASK, 400),
    ],
)
def test_a_large_range_keeps_all_cores_busy_and_a_small_one_is_not_split(span: int, slices: int) -> None:
    """One partition is not a reason to decode on one core; a handful of records is."""
    assert count_slices(one_range(span), cores=8) == slices


@pytest.mark.spark
@pytest.mark.parametrize(
    ("spans", "tasks"),
    [
        ((450_000, 20_000, 20_000, 10_000), 5),
        ((450_000, 0, 20_000, 20_000, 10_000), 5),
        ((125_000,) * 4, 4),
        ((750_000,) * 4, 12),
        ((2_500,) * 200, 200),
        ((9_000, 100, 100), 3),
    ],
    ids=["skewed", "one empty", "even", "large", "many", "small"],
)
def test_the_longest_partitions_of_a_range_are_cut(spark: Any, spans: tuple[int, ...], tasks: int) -> None:
    """One of nine tenths of a topic is read by all cores, and each task has 250,000 offsets at most."""
    topic = Topic("t")
    parts = (OffsetRange(topic, Partition(number), 0, span) for number, span in enumerate(spans))
    ranges = TopicRanges(topic, tuple(parts))
    kafka = KafkaSettings(bootstrap_servers="127.0.0.1:1")
    frame = read(spark, ranges, kafka, min_partitions=count_slices(ranges, cores=2))
    assert frame.rdd.getNumPartitions() == tasks


@pytest.mark.spark
@pytest.mark.servers
def test_aborted_records_and_markers_are_passed_over(spark: Any, broker: Any) -> None:
    """A range that ends in markers is read to its end without waiting for records that never come."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 3)
    for commit in (True, False):
        with broker.transaction(topic, 0, 4, commit=commit):
            pass
    ranges = plan(broker, topic)

    result = values(spark, broker, ranges)

    assert ranges.end_offsets() == {0: 13}
    assert sorted(result) == [(0, n) for n in (0, 1, 2, 3, 4, 5, 6)]


@pytest.mark.spark
@pytest.mark.servers
def test_a_range_of_markers_and_aborted_records_alone_is_empty(spark: Any, broker: Any) -> None:
    """A bounded run may meet a stretch without a single record."""
    topic = broker.create_topic()
    with broker.transaction(topic, 0, 4, commit=False):
        pass

    assert values(spark, broker, plan(broker, topic)) == {}


@pytest.mark.spark
@pytest.mark.servers
def test_bounded_runs_in_turn_read_every_record_once(spark: Any, broker: Any) -> None:
    """Several partitions, one of them all aborted, walked with a bound: no gap and nothing twice."""
    topic = broker.create_topic(partitions=3)
    for partition, count in enumerate((30, 7, 0)):
        broker.produce(topic, partition, count)
    with broker.transaction(topic, 2, 5, commit=False):
        pass

    result, committed = [], None
    while not (ranges := plan(broker, topic, committed, 11)).is_empty:
        assert ranges.span <= 11
        result += values(spark, broker, ranges).items()
        committed = ranges.end_offsets()

    assert sorted(result) == sorted(referee(broker, topic, 3).items())


@pytest.mark.spark
@pytest.mark.servers
def test_sparks_own_source_gives_the_same_rows(spark: Any, broker: Any) -> None:
    """With headers and without, nulls, and records that are too large by key, value or headers."""
    topic = broker.create_topic()
    records: list[tuple[str | None, str | None, list[tuple[str, bytes | None]]]] = [
        ("k", "v", []), (None, "v", [("h", None), ("h", b"1")]), ("k", None, []), ("k", "v" * 100, []),
        ("k" * (MOST_KEY_BYTES + 1), "v", []), ("k", "v", [("h", b"1" * 99)]), ("k", "v" * 99, []),
    ]  # fmt: skip
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for key, value, headers in records:
        producer.produce(topic, value, key, headers=headers)
    assert producer.flush(10) == 0
    plain = spark.newSession()
    plain.conf.set(INTERNALS, "false")
    for with_headers in (False, True):
        options: dict[str, Any] = {"min_partitions": 1, "headers": with_headers, "most_bytes": 100}
        ours, theirs = (
            read(session, plan(broker, topic), broker.settings, **options) for session in (spark, plain)
        )
        assert [(field.name, field.dataType) for field in theirs.schema] == [
            (field.name, field.dataType) for field in ours.schema
        ]
        assert theirs.orderBy("offset").collect() == ours.orderBy("offset").collect()
    marks = [row.value for row in theirs.orderBy("offset").collect()]
    assert [bytes(value or b"").startswith(LARGE_MARK) for value in marks] == [False] * 3 + [True] * 3 + [
        False
    ]


@pytest.mark.spark
@pytest.mark.servers
def test_a_compacted_topic_has_holes_and_loses_nothing(spark: Any, broker: Any) -> None:
    """A start inside a hole is not a loss: what compaction removed was superseded."""
    topic = broker.create_topic(cleanup_policy="compact", segment_ms="100", min_cleanable_dirty_ratio="0.01")
    broker.produce(topic, 0, 200, keys=["a", "b"] * 100)
    broker.wait_for_compaction(topic, 100)
    ranges = plan(broker, topic, {Partition(0): 5})

    assert values(spark, broker, ranges) == referee(broker, topic)


@pytest.mark.spark
@pytest.mark.servers
def test_slices_cut_one_partition_without_loss(spark: Any, broker: Any) -> None:
    """More tasks than partitions: the same records, read by several consumers."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 1000)
    ranges = plan(broker, topic)
    frame = read(spark, ranges, broker.settings, min_partitions=2)

    assert tuple(frame.columns) == COLUMNS
    assert frame.rdd.getNumPartitions() == 2
    assert values(spark, broker, ranges, slices=2) == referee(broker, topic)


@pytest.mark.servers
def test_records_deleted_before_they_were_read_stop_the_plan(broker: Any) -> None:
    """The broker's own beginning is compared with the committed offset before anything is read."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 10)
    broker.delete_records(topic, 0, before=6)

    with pytest.raises(OffsetError, match=r"4 offsets \(2 to 5\) were deleted"):
        plan(broker, topic, {Partition(0): 2})


@pytest.mark.spark
@pytest.mark.servers
def test_records_deleted_after_the_plan_fail_the_read(spark: Any, broker: Any) -> None:
    """A loss in between must not pass for an empty range."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 10)
    ranges = plan(broker, topic)
    broker.delete_records(topic, 0, before=6)

    with pytest.raises(Exception, match="Cannot fetch offset 0"):
        values(spark, broker, ranges)


@pytest.mark.spark
@pytest.mark.servers
def test_records_that_were_fetched_ahead_belong_to_their_topic_only(spark: Any, broker: Any) -> None:
    """A consumer stays for the next read and holds records behind the range; not for a topic made again."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 10)
    first = plan(broker, topic)
    for start, end in ((0, 4), (4, 10)):
        ranges = TopicRanges(topic, (OffsetRange(topic, Partition(0), start, end),), first.topic_id)
        result = values(spark, broker, ranges)
        assert [result[0, offset] for offset in range(start, end)] == [
            str(offset).encode() for offset in range(start, end)
        ]
        if start == 0:
            assert len(values(spark, broker, ranges)) == end  # once more, from the same consumer

    values(spark, broker, TopicRanges(topic, (OffsetRange(topic, Partition(0), 0, 4),), first.topic_id))
    broker.recreate(topic)
    broker.produce(topic, 0, 10, first=100)
    again = plan(broker, topic)
    assert again.topic_id != first.topic_id
    ranges = TopicRanges(topic, (OffsetRange(topic, Partition(0), 4, 10),), again.topic_id)
    assert values(spark, broker, ranges) == {
        (0, offset): str(100 + offset).encode() for offset in range(4, 10)
    }
