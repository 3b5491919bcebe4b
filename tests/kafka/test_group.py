"""Offsets that a run stores for a consumer group."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import attrs
import pytest
from confluent_kafka import Consumer, TopicPartition

from ingest.errors import BrokerRefusedError, BrokerUnreachableError
from ingest.kafka.group import store_offsets
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings

OFFSETS = {Partition(0): 3, Partition(1): 0}


@contextmanager
def consumer_of(kafka: KafkaSettings) -> Iterator[Consumer]:
    """Open a consumer of the group."""
    consumer = Consumer({"bootstrap.servers": kafka.bootstrap_servers, "group.id": kafka.group})
    yield consumer
    consumer.close()


def stored(kafka: KafkaSettings, topic: Topic) -> list[int]:
    """Return the group's offsets of a topic of two partitions, as the broker has them."""
    with consumer_of(kafka) as consumer:
        partitions = consumer.committed([TopicPartition(topic, 0), TopicPartition(topic, 1)], timeout=10)
    return [partition.offset for partition in partitions]


def grouped(broker: Any) -> KafkaSettings:
    """Return settings with a group of this test."""
    return attrs.evolve(broker.settings, group=f"lag-{uuid.uuid4().hex}")


@pytest.mark.servers
def test_a_lag_tool_sees_the_offsets_stored_last(broker: Any) -> None:
    """Also lower ones: after a move back the lag grows."""
    kafka, topic = grouped(broker), broker.create_topic(2)
    broker.produce(topic, 0, 5)
    store_offsets(kafka, {topic: {Partition(0): 5, Partition(1): 0}})
    store_offsets(kafka, {topic: OFFSETS})
    store_offsets(kafka, {})
    assert stored(kafka, topic) == [3, 0]


@pytest.mark.servers
def test_a_group_with_consumers_is_refused(broker: Any) -> None:
    """They would continue from offsets that are not theirs."""
    kafka, topic = grouped(broker), broker.create_topic(2)
    with consumer_of(kafka) as consumer:
        consumer.subscribe([topic])
        while not consumer.assignment():
            consumer.poll(0.1)
        with pytest.raises(BrokerRefusedError, match=f"group {kafka.group}: .*") as caught:
            store_offsets(kafka, {topic: OFFSETS})
    assert "another name" in str(caught.value)


@pytest.mark.servers
def test_a_deleted_topic_is_refused_by_name(broker: Any) -> None:
    """The error names it."""
    kafka = grouped(broker)
    with pytest.raises(BrokerRefusedError, match="no_such_topic"):
        store_offsets(kafka, {Topic("no_such_topic"): OFFSETS})


def test_a_broker_that_is_down_is_temporary(dead_port: str) -> None:
    """In bounded time."""
    with pytest.raises(BrokerUnreachableError):
        store_offsets(KafkaSettings(dead_port, group="g", timeout_s=0.5), {Topic("t"): OFFSETS})
