"""Produce a connector's signal to its signal topic."""

from typing import Final

from confluent_kafka import KafkaError, Message, Producer

from ingest.errors import BrokerRefusedError, IngestError, TopicNotFoundError
from ingest.kafka.connection import Connection
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Topic
from ingest.settings import KafkaSettings

_POLL_S: Final = 0.05
_PARTITION: Final = 0
"""The only one that a connector reads (debezium: KafkaSignalChannel.java)."""


def send_signal(
    kafka: KafkaSettings,
    topic: Topic,
    *,
    key: str,
    value: str,
) -> int:
    """Produce one signal, and return its offset once the broker has it.

    Raises `BrokerUnreachableError` after `[kafka] timeout_s`.  Raises `BrokerRefusedError` if the broker
    refuses the signal, and for a missing topic, which the broker might create without a reader.
    """
    connection = Connection.within(kafka)
    _check_topic(connection, topic)
    producer = connection.open(Producer, message_timeout_ms=max(1, int(connection.remaining_s() * 1000)))
    answers: list[tuple[KafkaError | None, int]] = []

    def note(error: KafkaError | None, message: Message) -> None:
        answers.append((error, message.offset() or 0))

    producer.produce(topic, value.encode(), key.encode(), partition=_PARTITION, on_delivery=note)
    while not answers and not connection.is_over():
        producer.poll(_POLL_S)
        connection.raise_refused()
    if not answers:
        raise connection.unreachable()
    error, offset = answers[0]
    if error is not None:
        raise _refusal(connection, topic, error)
    return offset


def _check_topic(connection: Connection, topic: Topic) -> None:
    servers = connection.kafka.bootstrap_servers
    marks = fetch_watermarks(connection.kafka, [topic])
    try:
        marks.of(topic)
    except TopicNotFoundError:
        problem = f"the signal topic {topic} does not exist"
        todo = "It is the connector's `signal.kafka.topic`, else its topic.prefix with -signal; one partition"
        raise BrokerRefusedError(servers, problem, todo) from None


def _refusal(connection: Connection, topic: Topic, error: KafkaError) -> IngestError:
    if error.name() in {"_MSG_TIMED_OUT", "_TIMED_OUT", "_TRANSPORT"}:
        return connection.unreachable()
    return BrokerRefusedError(connection.kafka.bootstrap_servers, f"topic {topic}: {error.str()}")
