"""How long topics keep their messages."""

from collections.abc import Sequence
from typing import Final

from confluent_kafka import KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    ConfigResource,
)

from ingest.kafka.connection import Connection
from ingest.names import Topic
from ingest.settings import KafkaSettings

TIMEOUT_S: Final = 5.0


def fetch_retention(
    kafka: KafkaSettings, topics: Sequence[Topic], timeout_s: float = TIMEOUT_S
) -> dict[Topic, float | None]:
    """Return the seconds that each topic keeps a message; None for a topic that deletes none by time.

    Topics are left out whose settings the login may not read (DescribeConfigs): a run does not need them.
    """
    connection = Connection.within(kafka, timeout_s)
    admin = connection.open(AdminClient)
    resources = [ConfigResource(ConfigResource.Type.TOPIC, topic) for topic in topics]
    if not resources:
        return {}
    retention: dict[Topic, float | None] = {}
    for resource, future in admin.describe_configs(resources, request_timeout=timeout_s).items():
        try:
            config = future.result(timeout=timeout_s)
        except (KafkaException, TimeoutError):
            continue
        limit_ms = int(config["retention.ms"].value)
        deletes = "delete" in config["cleanup.policy"].value.split(",")
        retention[Topic(resource.name)] = limit_ms / 1000 if deletes and limit_ms >= 0 else None
    return retention
