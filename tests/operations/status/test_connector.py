"""A dead connector leaves no lag: the newest message of its heartbeats, or of all its topics, shows it."""

import json
import re
import time
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import attrs
import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    NewTopic,
)

from ingest.local.topics import create_topics
from ingest.masking import Masking
from ingest.names import HEARTBEATS, Subject, Topic
from ingest.operations.status.connector import Connector, find_connectors
from ingest.settings import KafkaSettings, Settings
from ingest.settings.deployment import FreshnessSettings
from ingest.tables import Subjects, TableConfig, feed_of
from tests.lakes import MadeDeployment
from tests.operations.status.test_daily import ingest


@pytest.mark.parametrize(
    ("age_s", "heartbeats", "problem"),
    [(60, True, ""), (2520, True, "connector shop has been silent for 42.0 min, limit is 15.0 min"),
     (2520, False, "connector shop has been silent for 42.0 min, limit is 15.0 min"),
     (None, True, "connector shop has left no message, limit is 15.0 min"), (None, False, "")],
)  # fmt: skip
def test_a_connector_is_silent_beyond_its_limit(age_s: float | None, heartbeats: bool, problem: str) -> None:  # noqa: FBT001
    """Heartbeats that are all deleted were the last sign long ago. Without heartbeats, empty is new."""
    newest_at = None if age_s is None else datetime.now(UTC) - timedelta(seconds=age_s)
    assert Connector("shop", newest_at, heartbeats, 900.0).problem() == problem


@attrs.frozen
class Prefix:
    """Topics of a connector on the real broker."""

    name: str
    bootstrap_servers: str

    def send(self, topic: str, age_s: float) -> Topic:
        """Create a topic with a message of an age."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap_servers})
        create_topics(admin, [NewTopic(topic, 2, 1)])
        producer = Producer({"bootstrap.servers": self.bootstrap_servers})
        producer.produce(topic, b"{}", partition=1, timestamp=round((time.time() - age_s) * 1000))
        producer.flush()
        return Topic(topic)

    def table(self, age_s: float) -> TableConfig:
        """Create the topic of a table, with a message of an age."""
        topic = self.send(f"{self.name}.public.orders", age_s)
        return TableConfig("orders", topic, "postgres", Subjects(value=Subject(f"{topic}-value")))

    def find(self, table: TableConfig, **limits: Any) -> Connector | None:
        """Return the connector of a table."""
        settings = Settings(
            kafka=KafkaSettings(self.bootstrap_servers), freshness=FreshnessSettings(**limits)
        )
        feeds = {table.name: (feed_of(table, table.topic, Masking()),)}
        found = find_connectors(settings, feeds)
        assert found.error is None
        return found.of(feeds[table.name])


@pytest.fixture
def prefix(servers: Any) -> Prefix:
    """Name a connector that nobody had before."""
    return Prefix(f"c{uuid.uuid4().hex[:10]}", servers.bootstrap_servers)


@pytest.mark.servers
def test_the_newest_heartbeat_counts_and_without_it_the_newest_message_if_that_is_limited(
    prefix: Prefix,
) -> None:
    """A quiet source does not alarm: `max_quiet` is off unless it is set."""
    table = prefix.table(age_s=7200)
    assert prefix.find(table) is None
    quiet = prefix.find(table, max_quiet=3600)
    assert quiet is not None
    assert re.fullmatch(
        rf"connector {prefix.name} has been silent for 2\.0 h, limit is 1\.0 h", quiet.problem()
    )
    prefix.send(f"{prefix.name}.public.other", 60)
    assert prefix.find(table, max_quiet=3600).problem() == ""  # type: ignore[union-attr]

    prefix.send(f"{HEARTBEATS}.{prefix.name}", 30)
    beating = prefix.find(table)
    assert beating is not None
    assert (beating.problem(), beating.has_heartbeats) == ("", True)
    assert 30 <= (beating.silent_s or 0) < 60
    assert prefix.find(table, max_silence=0) is None


@pytest.mark.servers
def test_heartbeats_have_the_prefix_of_the_settings(prefix: Prefix) -> None:
    """A connector with another `topic.heartbeat.prefix`."""
    table = prefix.table(age_s=7200)
    prefix.send(f"beats-of.{prefix.name}", 2520)
    assert prefix.find(table) is None
    silent = prefix.find(table, heartbeats="beats-of")
    assert silent is not None
    assert (silent.has_heartbeats, bool(silent.problem())) == (True, True)


@pytest.mark.servers
def test_changes_after_the_last_heartbeat_show_that_the_connector_lives(prefix: Prefix) -> None:
    """Such as those of a connector whose heartbeats were switched off."""
    prefix.send(f"{HEARTBEATS}.{prefix.name}", 7200)
    connector = prefix.find(prefix.table(age_s=10))
    assert connector is not None
    assert connector.problem() == ""


@pytest.mark.servers
def test_status_says_silent_and_unknown_without_a_registry(prefix: Prefix, tmp_path: Path) -> None:
    """Nothing is unread, and the table is not well: the exit code says so."""
    settings = (
        f'[registry]\nurl = "http://127.0.0.1:9"\n[kafka]\nbootstrap_servers = "{prefix.bootstrap_servers}"\n'
    )
    deployment = MadeDeployment(tmp_path / "deployment", settings)
    table = prefix.table(age_s=2600)
    made = deployment.table("orders", topic=table.topic)
    made.commit(7, to=0, next_offsets={0: 0, 1: 1}, high_offsets={0: 0, 1: 1}, schema_ids=[1])
    prefix.send(f"{HEARTBEATS}.{prefix.name}", 2520)

    answer = ingest(deployment.root, "status", "--json")
    assert answer.returncode == 75
    (unknown,) = json.loads(answer.stdout)
    assert (unknown["health"], unknown["lag"]) == ("unknown", 0)
    assert "127.0.0.1:9" in unknown["reason"]

    file = deployment.root / "tables" / "orders.toml"
    topic = f'table = "orders"\ntopic = "{table.topic}"\n'
    file.write_text(f'{topic}dialect = "sqlserver"\nformat = "debezium-json"\n')
    answer = ingest(deployment.root, "status", "--json", "--metrics", "./")
    assert answer.returncode == 1, answer.stderr
    metrics = (deployment.root / "status_orders.prom").read_text()
    assert 'ingest_status_health{state="silent",table="orders"} 1.0' in metrics
    assert 'ingest_status_health{state="ok",table="orders"} 0.0' in metrics
    found = re.search(r'silence_seconds\{connector="(\w+)",table="orders"\} 25[2-9]\d\.', metrics)
    assert found is not None
    assert found[1] == prefix.name
    (silent,) = json.loads(answer.stdout)
    assert (silent["health"], silent["lag"]) == ("silent", 0)
    reason = rf"connector {prefix.name} has been silent for 4\d\.\d min, limit is 15\.0 min"
    assert re.fullmatch(reason, silent["reason"])
    assert silent["connector"]["heartbeats"] is True

    checks = json.loads(ingest(deployment.root, "doctor", "--json").stdout)["checks"]
    (connector,) = [check for check in checks if check["check"] == "connectors"]
    assert (connector["state"], re.fullmatch(reason, connector["text"]) is not None) == ("warning", True)
