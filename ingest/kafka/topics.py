"""The topics of a broker."""

from typing import Final

import attrs
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from ingest.errors import BrokerUnreachableError, IngestError
from ingest.kafka.connection import Connection
from ingest.names import Topic
from ingest.settings import KafkaSettings

_REASON_S: Final = 2.0
"""Seconds to ask for the reason why a broker does not answer."""
_OWN_TOPICS: Final = frozenset({"__consumer_offsets", "__transaction_state", "__share_group_state"})


def list_topics(kafka: KafkaSettings) -> tuple[Topic, ...]:
    """List the topics, sorted, without the broker's own.

    Raises `BrokerUnreachableError` after `[kafka] timeout_s`, `BrokerRefusedError` for a refused login.
    """
    connection = Connection.within(kafka)
    admin = connection.open(AdminClient)
    while not connection.is_over():
        try:
            names = admin.list_topics(timeout=min(1.0, connection.remaining_s())).topics
        except KafkaException:
            admin.poll(0)  # runs error_cb, which reports the reason
            connection.raise_refused()
            continue
        return tuple(Topic(name) for name in sorted(names) if name not in _OWN_TOPICS)
    raise connection.unreachable()


def broker_gone(kafka: KafkaSettings, problem: str) -> BrokerUnreachableError:
    """Return the error of a read that a broker did not answer, with the reason that librdkafka knows."""
    try:
        list_topics(attrs.evolve(kafka, timeout_s=_REASON_S))
    except BrokerUnreachableError as error:
        problem = f"{problem} ({error.problem})"
    except IngestError as error:
        problem = f"{problem} ({error})"
    return BrokerUnreachableError(kafka.bootstrap_servers, problem)
