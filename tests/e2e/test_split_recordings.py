"""Recordings with all tables in one topic: each table equals the source's, in any slices."""

import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from ingest.local.load import LoadOptions, load
from ingest.names import Subject
from ingest.testing.columns import record
from ingest.testing.servers import LocalServers
from tests.e2e.deployment import Deployment
from tests.e2e.recordings import MYSQL, ORACLE, POSTGRES, SQLSERVER, Recording
from tests.e2e.referee import differences, read_expected, read_table

pytestmark = [pytest.mark.spark, pytest.mark.servers, pytest.mark.pairs]

Plan = Callable[["OneTopic"], None]
SIGNALS = {("left out", "Debezium's signal table")}
HEARTBEAT = record("io.debezium.connector.common.Heartbeat", {"ts_ms": "long"})


class OneTopic:
    """A recording whose messages, those that are not changes too, are all in one topic, by their times."""

    def __init__(self, deployment: Deployment, folder: Path) -> None:
        self.deployment, self.recording, self.folder = deployment, deployment.recording, folder
        shutil.copytree(self.recording.folder, folder)
        lines = []
        for path in sorted((folder / "messages").glob("*.jsonl.gz")):
            with gzip.open(path, "rt", encoding="utf-8") as file:
                lines += [json.loads(line) for line in file]
        lines.sort(key=lambda message: message["ts"])
        with gzip.open(folder / "messages" / f"{self.name}.jsonl.gz", "wt", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(line)}\n" for line in lines)
        content = json.loads((folder / "fixture.json").read_text())
        partitions = 1 + max(line["p"] for line in lines)
        content["topics"] = [{"name": self.name, "partitions": partitions, "messages": len(lines)}]
        (folder / "fixture.json").write_text(json.dumps(content))
        self.count = len(lines)

    @property
    def name(self) -> str:
        """The topic, before it gets the prefix of the deployment."""
        return f"{self.recording.prefix}.all"

    @property
    def topic(self) -> str:
        """The topic."""
        return f"{self.deployment.prefix}.all"

    def share_subject(self) -> None:
        """Register the values of all tables as versions of the subject that a router's topic has."""
        registry, subject = self.deployment.session.registry, Subject(f"{self.topic}-value")
        servers = LocalServers(self.deployment.servers)
        tables = registry.subjects(f"{self.deployment.prefix}.{self.recording.pattern}-value")
        servers.register(subject, HEARTBEAT, "NONE")
        for name in tables:
            for number in registry.versions(name):
                version = registry.version(name, number)
                registry.register(subject, version.schema_text, version.references)

    def load(self, limit: int | None = None) -> None:
        """Produce the messages that the topic lacks."""
        rename = (self.recording.prefix, self.deployment.prefix)
        servers = self.deployment.servers
        options = LoadOptions(rename=rename, limit=limit)
        load(self.folder, servers.bootstrap_servers, servers.registry_url, options)

    def onboard(self) -> None:
        """Write a file for each table: the subjects are those of topics that nobody writes."""
        self.deployment.onboard()
        for path in self.deployment.tables.glob("*.toml"):
            text = path.read_text()
            topic = f"{self.deployment.prefix}.all"
            source = re.findall(r'^topic = "[^.]+(.*)"$', text, flags=re.MULTILINE)[0]
            source = source.replace("Weird_Table", "Weird Table")  # a topic cannot have the name
            new = f'topic = "{topic}"\nsource_table = "{self.recording.prefix}{source}"'
            path.write_text(re.sub(r"^topic = .*$", new, text, flags=re.MULTILINE))

    def differences(self, table: str) -> list[str]:
        """Compare a table with the source's."""
        expected = read_expected(self.recording, table)
        frame = self.deployment.frame(table)
        return differences(expected.rows, read_table(frame, expected.keys, expected.kinds))


def once(topic: OneTopic) -> None:
    """Everything at once."""
    topic.load()
    report = topic.deployment.run()
    assert {str(table.error) for table in report.tables} == {"None"}


def slices(topic: OneTopic) -> None:
    """Messages that arrive between runs, more than each run reads."""
    for limit in (topic.count // 2, None):
        topic.load(limit=limit)
        topic.deployment.run_until_idle(max_offsets=topic.count // 4)


def repeated(topic: OneTopic) -> None:
    """Every range twice."""
    topic.load()
    topic.deployment.run()
    for table in topic.recording.tables:
        topic.deployment.session.move_offsets(table, "earliest")
    topic.deployment.run()


@pytest.mark.parametrize("plan", [once, slices, repeated])
@pytest.mark.parametrize("recording", [SQLSERVER, POSTGRES, ORACLE, MYSQL], ids=lambda r: r.name)
def test_tables_of_one_topic_equal_the_source(
    recording: Recording, plan: Plan, make_deployment: Callable[[Recording], Deployment], tmp_path: Path
) -> None:
    """Every cell equals the source's, whatever else the topic holds."""
    topic = OneTopic(make_deployment(recording), tmp_path / "recording")
    topic.load(limit=0)
    topic.onboard()

    plan(topic)

    wrong = {table: topic.differences(table) for table in recording.tables}
    assert {table: lines for table, lines in wrong.items() if lines} == {}
    assert {outcome.outcome for outcome in topic.deployment.run().tables} == {"idle"}


@pytest.mark.parametrize("recording", [SQLSERVER, POSTGRES, ORACLE, MYSQL], ids=lambda r: r.name)
def test_onboarding_finds_the_tables_of_a_recording(
    recording: Recording, make_deployment: Callable[[Recording], Deployment], tmp_path: Path
) -> None:
    """Names, keys and columns by the messages: each table equals the source's."""
    topic = OneTopic(make_deployment(recording), tmp_path / "recording")
    topic.load()
    topic.share_subject()

    with topic.deployment.session as session:
        results = session.onboard([topic.topic], name="{table}", split=True)

    assert {(result.state, result.reason) for result in results} - SIGNALS == {("new", "")}
    assert {result.table.name for result in results if result.table} == set(recording.tables)
    assert {str(table.error) for table in topic.deployment.run().tables} == {"None"}
    wrong = {table: topic.differences(table) for table in recording.tables}
    assert {table: lines for table, lines in wrong.items() if lines} == {}
