"""Store offsets for a consumer group, for tools that show its lag.  `ingest` never reads them back."""

import time
from collections.abc import Mapping
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient

from ingest.errors import BrokerRefusedError, IngestError
from ingest.kafka.connection import Connection
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings

_AGAIN_S: Final = 0.1
_NO_COORDINATOR: Final = frozenset(
    {"COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE", "NOT_COORDINATOR"}
)
"""Answers of a broker that still makes the topic of all groups' offsets, or moves it."""


def store_offsets(
    kafka: KafkaSettings,
    offsets: Mapping[Topic, Mapping[Partition, int]],
) -> None:
    """Store the next offset of each partition for the group `kafka.group`, in one request.

    Raises `BrokerUnreachableError` after `[kafka] timeout_s`, and `BrokerRefusedError` for a login, a missing
    right, or a group with members.
    """
    partitions = [TopicPartition(topic, p, end) for topic, ends in offsets.items() for p, end in ends.items()]
    if not partitions:
        return
    connection = Connection.within(kafka)
    admin = connection.open(AdminClient)
    request = ConsumerGroupTopicPartitions(kafka.group, partitions)
    while (problem := _try_to_store(connection, admin, request)) is not None:
        error, topic = problem
        if error.name() not in _NO_COORDINATOR or connection.is_over():
            raise _refusal(connection, error, topic)
        time.sleep(_AGAIN_S)


def _try_to_store(
    connection: Connection, admin: AdminClient, request: ConsumerGroupTopicPartitions
) -> tuple[KafkaError, str] | None:
    """Send the request.  Return an error and its topic, or None."""
    futures = admin.alter_consumer_group_offsets([request], request_timeout=connection.remaining_s())
    (stored,) = (connection.answer(admin, future) for future in futures.values())
    if isinstance(stored, KafkaError):
        return stored, ""
    return next(((part.error, part.topic) for part in stored.topic_partitions if part.error), None)


def _refusal(connection: Connection, error: KafkaError, topic: str) -> IngestError:
    if error.name() in {"_TRANSPORT", *_NO_COORDINATOR}:
        return connection.unreachable()
    problem = f"group {connection.kafka.group}: {f'topic {topic}: ' if topic else ''}{error.str()}"
    todo = "The login needs READ for the group; a group with consumers: choose another name in [kafka] group"
    return BrokerRefusedError(connection.kafka.bootstrap_servers, problem, todo)
