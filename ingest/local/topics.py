"""The broker's side of a load: topics, end offsets, deliveries."""

import time
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final

import attrs
from confluent_kafka import KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined] # it is public
from confluent_kafka.cimpl import NewTopic

from ingest.errors import BrokerUnreachableError, UsageError
from ingest.kafka.connection import TEMPORARY
from ingest.local import fixture

ANSWER_S: Final = 60
POLL_S: Final = 0.05
PASSING: Final = TEMPORARY | {"TOPIC_ALREADY_EXISTS", "UNKNOWN_TOPIC_OR_PART"}
"""The errors that pass: a topic of the name is being deleted, or the new one has no leaders yet."""
PRODUCER: Final[Mapping[str, Any]] = {
    "acks": "all",
    "enable.idempotence": True,
    "max.in.flight.requests.per.connection": 1,
    "linger.ms": 20,
    "log_level": 0,
}


@attrs.define
class Delivery:
    """The delivery of one topic's messages."""

    produced: int = 0
    failure: str = ""

    def note(self, error: object, _: Message) -> None:
        """Count a delivered message, or keep the first failure."""
        if error is None:
            self.produced += 1
        else:
            self.failure = self.failure or str(error)


def connect(bootstrap_servers: str) -> AdminClient:
    """Connect to a broker that answers."""
    errors: list[KafkaError] = []
    config: dict[str, Any] = {
        "bootstrap.servers": bootstrap_servers,
        "log_level": 0,
        "error_cb": errors.append,
    }
    admin = AdminClient(config)
    end = time.monotonic() + ANSWER_S
    while True:
        try:
            admin.list_topics(timeout=1)
        except KafkaException as error:
            admin.poll(0)  # delivers the errors to `error_cb`
            refused = any(problem.code() == KafkaError._ALL_BROKERS_DOWN for problem in errors)  # noqa: SLF001 - public
            if refused or time.monotonic() > end:
                reason = (errors or [error.args[0]])[0].str()
                raise BrokerUnreachableError(bootstrap_servers, reason) from error
        else:
            return admin


def create_missing(admin: AdminClient, topics: Mapping[str, int]) -> None:
    """Create the missing topics.  Raises UsageError if one exists with another number of partitions."""
    present = admin.list_topics(timeout=ANSWER_S).topics
    for topic, partitions in topics.items():
        if topic in present and (existing := len(present[topic].partitions)) != partitions:
            raise UsageError(
                f"topic {topic} has {existing} partitions, not {partitions}",
                f"Load with --partitions {existing}, or under another name with --rename",
            )
    create_topics(admin, [NewTopic(name, count, 1) for name, count in topics.items() if name not in present])


def create_topics(admin: AdminClient, topics: Iterable[NewTopic]) -> None:
    """Create topics, and wait until each of their partitions has a leader.

    The broker answers before.  A request for the topic then finds none, and an idempotent producer stalls.
    Waits as well while topics of these names are being deleted.
    """
    for topic in topics:
        _repeat(partial(_create, admin, topic))
        _repeat(partial(_find_leaders, admin, topic))


def _create(admin: AdminClient, topic: NewTopic) -> None:
    admin.create_topics([topic])[topic.topic].result(ANSWER_S)


def _find_leaders(admin: AdminClient, topic: NewTopic) -> None:
    # Without this request, librdkafka goes on to believe its first answer, for minutes: no leaders.
    admin.list_topics(topic.topic, timeout=ANSWER_S)
    read_ends(admin, topic.topic, topic.num_partitions)


def _repeat(request: Callable[[], object]) -> None:
    """Repeat a request while its error is a passing one, for `ANSWER_S` at most."""
    until = time.monotonic() + ANSWER_S
    while True:
        try:
            request()
        except KafkaException as error:
            if error.args[0].name() not in PASSING or time.monotonic() > until:
                raise
            time.sleep(POLL_S)
        else:
            return


def read_ends(admin: AdminClient, topic: str, partitions: int) -> dict[int, int]:
    """Read the end offset of every partition of a topic."""
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call] # the client's own
    partitions_latest = {TopicPartition(topic, number): latest for number in range(partitions)}
    answers = admin.list_offsets(partitions_latest, request_timeout=ANSWER_S)
    return {partition.partition: answer.result().offset for partition, answer in answers.items()}


def produce(bootstrap_servers: str, topic: str, messages: Iterable[fixture.Message]) -> int:
    """Produce messages in order, with their partition and timestamp.  Return the number delivered."""
    producer = Producer({"bootstrap.servers": bootstrap_servers, **PRODUCER})
    delivery = Delivery()
    for message in messages:
        if delivery.failure:
            break
        _enqueue(producer, topic, message, delivery)
    waiting = producer.flush()
    if delivery.failure or waiting:
        reason = delivery.failure or f"{waiting} messages were not delivered"
        raise BrokerUnreachableError(bootstrap_servers, f"producing to {topic}: {reason}")
    return delivery.produced


def _enqueue(producer: Producer, topic: str, message: fixture.Message, delivery: Delivery) -> None:
    while True:
        try:
            producer.produce(
                topic,
                value=message.value,
                key=message.key,
                partition=message.partition,
                timestamp=message.timestamp_ms,
                headers=list(message.headers),
                on_delivery=delivery.note,
            )
        except BufferError:
            producer.poll(0.2)
        else:
            producer.poll(0)
            return
