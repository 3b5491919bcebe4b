"""A few records of each range, read from a real broker."""

import pytest

from ingest.errors import BrokerUnreachableError
from ingest.kafka.sample import PER_END, sample
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings
from tests.kafka.conftest import Broker

pytestmark = pytest.mark.servers


def values(broker: Broker, topic: Topic, ranges: dict[int, tuple[int, int]]) -> list[int]:
    """Sample a topic; return the records' values, which are numbers."""
    spans = {Partition(partition): span for partition, span in ranges.items()}
    return [int(record.value or b"-1") for record in sample(broker.settings, topic, spans)]


def test_the_first_and_the_last_records_of_a_range_are_read(broker: Broker) -> None:
    """First the beginnings of all partitions, then their ends."""
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, 0, 30)
    broker.produce(topic, 1, 2 * PER_END, first=100)
    first = [*range(PER_END), *range(100, 100 + PER_END)]
    last = [*range(30 - PER_END, 30), *range(100 + PER_END, 100 + 2 * PER_END)]
    assert values(broker, topic, {0: (0, 30), 1: (0, 2 * PER_END)}) == first + last


def test_nothing_outside_of_a_range_is_read(broker: Broker) -> None:
    """Neither before its begin nor at its end, which is exclusive."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 30)
    assert set(values(broker, topic, {0: (10, 13)})) == {10, 11, 12}


def test_an_empty_range_has_no_records(broker: Broker) -> None:
    """Of a topic without messages, or at its end."""
    topic = broker.create_topic(partitions=2)
    broker.produce(topic, 0, 3)
    assert values(broker, topic, {0: (3, 3), 1: (0, 0)}) == []


def test_aborted_records_are_not_read(broker: Broker) -> None:
    """A range that ends in them and in the transaction's mark comes to its end all the same."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 2)
    with broker.transaction(topic, 0, 20, commit=False):
        pass
    assert set(values(broker, topic, {0: (0, 2 + 20 + 1)})) == {0, 1}


def test_records_are_whole(broker: Broker) -> None:
    """Key, value and place."""
    topic = broker.create_topic()
    broker.produce(topic, 0, 1, keys=["k"], first=7)
    (only,) = sample(broker.settings, topic, {Partition(0): (0, 1)})
    assert (only.key, only.value) == (b"k", b"7")


def test_a_broker_that_does_not_answer_is_named() -> None:
    """Within the time given."""
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:9"):
        sample(KafkaSettings("127.0.0.1:9", read_timeout_s=1.5), Topic("t"), {Partition(0): (0, 1)})
