"""A topic name belongs to the test that uses it: leftovers of earlier tests are removed."""

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.errors import RegistryRefusedError
from ingest.local.servers import Addresses
from ingest.local.topics import connect, read_ends
from ingest.testing import Topic, nullable
from ingest.testing.servers import LocalServers

pytestmark = pytest.mark.servers

NAME = "builders.testDB.dbo.again"


def test_a_topic_is_recreated(servers: Addresses) -> None:
    """Without messages, and only with the versions registered now."""
    local = LocalServers(servers)
    for columns in ({"id": "int", "old": nullable("string")}, {"id": "int"}):
        local.make_topic(NAME, 2)
        topic = Topic.begin(NAME, columns, local)
        with SchemaRegistryClient({"url": servers.registry_url}) as registry:
            assert registry.get_versions(f"{NAME}-value") == [1]
        assert read_ends(connect(servers.bootstrap_servers), NAME, 2) == {0: 0, 1: 0}
        topic.send(topic.create({"id": 1}), partition=1)
        assert read_ends(connect(servers.bootstrap_servers), NAME, 2) == {0: 0, 1: 1}


def test_a_compatibility_level_makes_the_registry_refuse(servers: Addresses) -> None:
    """A version that the level forbids; without a level the registry accepts any."""
    local = LocalServers(servers)
    local.make_topic(NAME)
    topic = Topic.begin(NAME, {"id": "int"}, local)
    with pytest.raises(RegistryRefusedError, match=f"registering a version of {NAME}-value"):
        topic.version({"id": "string"}, compatibility="BACKWARD")
    topic.version({"id": "int", "name": nullable("string")}, compatibility="BACKWARD")
    assert topic.version({"id": "string"}) == topic.current
