"""Registries in practice: naming strategies, deleted versions, shared ids, referenced schemas."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from confluent_kafka.schema_registry import Schema, SchemaReference, SchemaRegistryClient

from ingest.local.servers import Addresses
from ingest.testing import Columns, Message, Topic, assert_table, nullable
from ingest.testing.servers import LocalServers
from tests.e2e.deployment import Deployments

pytestmark = [pytest.mark.spark, pytest.mark.servers]

OLD: Final[Columns] = {"id": "int", "name": nullable("string")}
NEW: Final[Columns] = {**OLD, "extra": nullable("long")}


@attrs.frozen
class Strategy:
    """Servers with another naming strategy; schemas are built for `topic` with Avro's characters."""

    servers: LocalServers
    topic: str
    subject: Callable[[str], str]
    """Names the subject of a record."""

    def register(self, subject: str, node: Any, compatibility: str | None) -> int:
        """Register under this strategy's name a subject that the builder names by topic."""
        del subject
        return self.servers.register(self.subject(_full_name(node)), node, compatibility)

    def produce(
        self, topic: str, messages: Iterable[Message], partition: int, headers: Mapping[str, bytes]
    ) -> None:
        """Append messages to the topic under its own name."""
        del topic
        self.servers.produce(self.topic, messages, partition, headers)


def _full_name(node: Any) -> str:
    return f"{node['namespace']}.{node['name']}"


def _make(servers: Addresses, topic: str, subject: Callable[[str], str]) -> Topic:
    """Create a topic with subjects of another naming strategy."""
    local = LocalServers(servers)
    local.make_topic(topic)
    return Topic.begin(topic.replace("-", "_"), OLD, Strategy(local, topic, subject))


def _add_in_pieces(topic: Topic, columns: Columns, client: SchemaRegistryClient, subject: str) -> None:
    """Register a version with its row in a referenced subject, and make it current."""
    whole = topic.envelope(columns)
    before = whole["fields"][0]
    row, before["type"] = before["type"][1], ["null", "Value"]
    name = f"{topic.name}.Value"
    client.register_schema(name, Schema(json.dumps({**row, "namespace": topic.name}), "AVRO"))
    pieces = Schema(json.dumps(whole), "AVRO", [SchemaReference(name, name, 1)])
    client.set_compatibility(subject, level="NONE")
    topic.current = client.register_schema(subject, pieces)
    topic.versions[topic.current] = columns


def test_any_naming_strategy_reads_deleted_shared_and_referenced_versions(
    tmp_path: Path, deployments: Deployments
) -> None:
    """By topic and record, with its newest version deleted; by record, with an id of another subject."""
    deployment = deployments.plain(tmp_path)
    both = _make(deployments.servers, "names-1.dbo.both", lambda record: f"names-1.dbo.both-{record}")
    alone = _make(deployments.servers, "names-1.dbo.alone", lambda record: record)
    with SchemaRegistryClient({"url": deployments.servers.registry_url}) as client:
        subject = "names-1.dbo.both-names_1.dbo.both.Envelope"
        old = both.create({"id": 1, "name": "old"})
        _add_in_pieces(both, NEW, client, subject)
        both.send(old, both.create({"id": 2, "name": "new", "extra": 1 << 40}))
        assert client.delete_version(subject, 2) == 2
        same = Schema(json.dumps(alone.envelope(OLD)), "AVRO")
        assert client.register_schema("names-1.dbo.elsewhere-value", same) == alone.current
    alone.send(alone.create({"id": 3, "name": "shared"}))

    deployment.onboard(["names-1.dbo.[ab]*"], name="{table}")
    report = deployment.run()

    assert {outcome.table: outcome.outcome for outcome in report.tables} == {
        "alone": "committed",
        "both": "committed",
    }
    rows = [{"id": 1, "name": "old"}, {"id": 2, "name": "new", "extra": 1 << 40}]
    assert_table(deployment.frame("both"), rows, key=["id"])
    assert_table(deployment.frame("alone"), [{"id": 3, "name": "shared"}], key=["id"])
