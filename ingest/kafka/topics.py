"""The topics of a broker, and how long they keep their messages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import attrs
from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    ConfigEntry,
    ConfigResource,
)

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


def fetch_retention(kafka: KafkaSettings, topics: Sequence[Topic]) -> dict[Topic, float | None]:
    """Return the seconds that each topic keeps a message, or None if it deletes no message by time.

    Topics are left out if the login may not read their settings (DescribeConfigs): a run does not need them.
    """
    retention: dict[Topic, float | None] = {}
    for topic, config in _settings(kafka, topics):
        limit_ms = int(config["retention.ms"].value or -1)
        retention[topic] = limit_ms / 1000 if "delete" in _policies(config) and limit_ms >= 0 else None
    return retention


def is_compacted(kafka: KafkaSettings, topic: Topic) -> bool | None:
    """Return whether a topic keeps only the last message of a key, or None if the login may not know."""
    return next(("compact" in _policies(config) for _, config in _settings(kafka, [topic])), None)


def _settings(
    kafka: KafkaSettings, topics: Sequence[Topic]
) -> Iterator[tuple[Topic, Mapping[str, ConfigEntry]]]:
    """Yield the settings of topics that the login may read."""
    connection = Connection.within(kafka)
    admin = connection.open(AdminClient)
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    if not resources:
        return
    for resource, future in admin.describe_configs(resources, request_timeout=kafka.timeout_s).items():
        try:
            yield Topic(resource.name), future.result(timeout=kafka.timeout_s)
        except (KafkaException, TimeoutError):
            continue


def _policies(config: Mapping[str, ConfigEntry]) -> list[str]:
    return [policy.strip() for policy in (config["cleanup.policy"].value or "").split(",")]
