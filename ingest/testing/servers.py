"""The destination of a topic's schemas and messages: real servers, or memory."""

import json
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Final

import attrs
import httpx2  # the pinned client's HTTP library, whose errors pass through
from confluent_kafka import KafkaError, Producer
from confluent_kafka.cimpl import NewTopic
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from ingest.errors import BrokerUnreachableError, RegistryRefusedError, RegistryUnreachableError
from ingest.local.servers import Addresses
from ingest.local.topics import ANSWER_S, connect, create_topics
from ingest.testing.columns import Json
from ingest.testing.topic import Message

FLUSH_S: Final = 120
QUEUED: Final = 50_000
"""The messages that wait for delivery at most. librdkafka refuses more than 100,000."""
PRODUCER: Final[Mapping[str, str | int]] = {
    "acks": "all",
    "linger.ms": 5,
    # A topic just made can answer the first request with "not leader": one at a time keeps the order.
    "max.in.flight.requests.per.connection": 1,
    "log_level": 0,
}


@attrs.frozen
class LocalServers:
    """The real broker and registry."""

    addresses: Addresses

    def make_topic(self, name: str, partitions: int = 1) -> None:
        """Make an empty topic without subjects, replacing one of that name from an earlier test."""
        admin = connect(self.addresses.bootstrap_servers)
        if name in admin.list_topics(timeout=ANSWER_S).topics:
            admin.delete_topics([name])[name].result(timeout=ANSWER_S)
            with self._registry() as client:
                for subject in (f"{name}-key", f"{name}-value"):
                    _delete(client, subject)
        create_topics(admin, [NewTopic(name, partitions, 1)])

    def register(self, subject: str, node: Json, compatibility: str | None) -> int:
        """Register a schema, after setting the subject's compatibility level.  Return its id."""
        url = self.addresses.registry_url
        try:
            with self._registry() as client:
                if compatibility is not None:
                    client.set_compatibility(subject, level=compatibility)
                return int(client.register_schema(subject, Schema(json.dumps(node), "AVRO")))
        except SchemaRegistryError as error:
            request = f"registering a version of {subject}"
            raise RegistryRefusedError(url, request, error.http_status_code, error.error_message) from error
        except httpx2.HTTPError as error:
            raise RegistryUnreachableError(url, str(error)) from error

    def produce(
        self, topic: str, messages: Iterable[Message], partition: int, headers: Mapping[str, bytes]
    ) -> None:
        """Append messages to a partition, in order, and wait for the broker to have them."""
        address = self.addresses.bootstrap_servers
        failures: list[str] = []

        def note(error: KafkaError | None, _: object) -> None:
            if error is not None:
                failures.append(error.str())

        producer = Producer({**PRODUCER, "bootstrap.servers": address})
        for key, value in messages:
            if len(producer) >= QUEUED:
                producer.flush(FLUSH_S)
            producer.produce(topic, value, key, partition=partition, headers=dict(headers), on_delivery=note)
        waiting = producer.flush(FLUSH_S)
        if failures or waiting:
            reason = failures[0] if failures else f"{waiting} messages were not delivered"
            raise BrokerUnreachableError(address, f"producing to {topic}: {reason}")

    def _registry(self) -> SchemaRegistryClient:
        return SchemaRegistryClient({"url": self.addresses.registry_url, "timeout": 30, "max.retries": 1})


@attrs.define
class Memory:
    """Topics without servers: count ids and keep messages, for tests that decode DataFrames."""

    schemas: dict[str, Json] = attrs.Factory(dict)
    """Registered schemas, by `<subject> <id>`."""
    messages: list[Message] = attrs.Factory(list)
    first_id: int = 1

    def register(self, subject: str, node: Json, compatibility: str | None) -> int:
        """Keep a schema and return its id.  The level is ignored."""
        del compatibility
        schema_id = self.first_id + len(self.schemas)
        self.schemas[f"{subject} {schema_id}"] = node
        return schema_id

    def produce(
        self, topic: str, messages: Iterable[Message], partition: int, headers: Mapping[str, bytes]
    ) -> None:
        """Keep messages, of one topic and partition."""
        del topic, partition, headers
        self.messages.extend(messages)


def _delete(client: SchemaRegistryClient, subject: str) -> None:
    """Delete a subject permanently if it exists."""
    try:
        client.delete_subject(subject)
        client.delete_subject(subject, permanent=True)
    except SchemaRegistryError as error:
        if error.http_status_code != HTTPStatus.NOT_FOUND:
            raise
