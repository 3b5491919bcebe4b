"""The first and last records of many topics, read at once from a real broker."""

import random

import pytest

from ingest.errors import BrokerUnreachableError
from ingest.kafka.sample import sample
from ingest.kafka.samples import sample_topics
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings
from tests.kafka.conftest import Broker

pytestmark = pytest.mark.servers

Ranges = dict[Topic, dict[Partition, tuple[int, int]]]


def make_topics(broker: Broker, rng: random.Random) -> Ranges:
    """Make topics of every shape, and return random ranges within them."""
    topics = [broker.create_topic(partitions=rng.randint(1, 3)) for _ in range(8)]
    for number, topic in enumerate(topics[1:]):  # the first one is empty
        broker.produce(topic, 0, rng.choice([1, 4, 30]), first=100 * number)
    for topic in topics[1:3]:
        with broker.transaction(topic, 0, 12, commit=topic == topics[1]):
            pass
    broker.delete_records(topics[4], 0, before=1)
    ranges: Ranges = {}
    for topic, marks in fetch_watermarks(broker.settings, topics).found.items():
        ends = {partition: rng.choice([mark.begin, mark.end, mark.end]) for partition, mark in marks.items()}
        ranges[topic] = {partition: (mark.begin, ends[partition]) for partition, mark in marks.items()}
    return ranges


@pytest.mark.parametrize("per_end", [1, 2, 5, 40])
def test_many_topics_give_the_records_that_each_gives_by_itself(broker: Broker, per_end: int) -> None:
    """In the same order: empty topics, aborted transactions, deleted records and ranges that end early."""
    rng = random.Random(per_end)  # noqa: S311  shapes, no secret
    ranges = make_topics(broker, rng)
    expected = {
        topic: sample(broker.settings, topic, spans, per_end=per_end) for topic, spans in ranges.items()
    }
    assert sample_topics(broker.settings, ranges, per_end=per_end) == expected
    assert any(expected.values())


def test_a_topic_that_cannot_be_read_is_left_out(broker: Broker) -> None:
    """Its first record has expired meanwhile, and the other topics still have theirs."""
    expired, sound = broker.create_topic(), broker.create_topic()
    for topic in (expired, sound):
        broker.produce(topic, 0, 3)
    broker.delete_records(expired, 0, before=3)
    samples = sample_topics(broker.settings, {topic: {Partition(0): (0, 3)} for topic in (expired, sound)})
    assert [int(record.value or b"") for record in samples.pop(sound)] == [0, 1, 2]
    assert samples == {}


def test_a_broker_that_does_not_answer_is_named() -> None:
    """Within the time given."""
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:9"):
        sample_topics(KafkaSettings("127.0.0.1:9", read_timeout_s=1.5), {Topic("t"): {Partition(0): (0, 1)}})
