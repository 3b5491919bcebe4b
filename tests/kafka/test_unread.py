"""The age of the oldest unread message, read from a real broker."""

import time

import pytest
from confluent_kafka import Producer

from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.unread import unread_s
from ingest.names import Partition, Topic
from tests.kafka.conftest import Broker

pytestmark = pytest.mark.servers


def ranges(topic: Topic, **spans: tuple[int, int]) -> TopicRanges:
    """Return ranges by partition: p0, p1 and so on."""
    parts = (OffsetRange(topic, Partition(int(name[1:])), *span) for name, span in spans.items())
    return TopicRanges(topic, tuple(parts))


def send(broker: Broker, topic: Topic, partition: int, *ages_s: float) -> None:
    """Send a message for each age."""
    producer = Producer({"bootstrap.servers": broker.settings.bootstrap_servers})
    for age_s in ages_s:
        at = round((time.time() - age_s) * 1000)
        producer.produce(topic, value=b"1", partition=partition, timestamp=at)
    producer.flush()


def test_the_oldest_unread_message_counts_and_no_read_one(broker: Broker) -> None:
    """Of all partitions; a table that has read a message of an hour ago is as old as the next message."""
    topic = broker.create_topic(partitions=2)
    send(broker, topic, 0, 3600, 5)
    send(broker, topic, 1, 300)
    assert 5 <= (unread_s(broker.settings, ranges(topic, p0=(1, 2))) or 0) < 60
    assert 300 <= (unread_s(broker.settings, ranges(topic, p0=(1, 2), p1=(0, 1))) or 0) < 360
    assert 3600 <= (unread_s(broker.settings, ranges(topic, p0=(0, 2), p1=(0, 1))) or 0) < 3660


def test_without_an_unread_message_nothing_waits(broker: Broker) -> None:
    """At the ends, and where only a transaction's aborted messages and mark follow."""
    topic = broker.create_topic()
    send(broker, topic, 0, 3600)
    with broker.transaction(topic, 0, 3, commit=False):
        pass
    assert unread_s(broker.settings, ranges(topic, p0=(1, 1))) == 0
    assert unread_s(broker.settings, ranges(topic, p0=(1, 5))) == 0


def test_a_clock_that_is_ahead_counts_as_no_wait(broker: Broker) -> None:
    """Of the producer's host."""
    topic = broker.create_topic()
    send(broker, topic, 0, -600)
    assert unread_s(broker.settings, ranges(topic, p0=(0, 1))) == 0
