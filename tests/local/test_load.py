"""Recorded messages in a real broker, read back and compared with the recording."""

import base64
import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.errors import (
    BrokerUnreachableError,
    RegistryRefusedError,
    RegistryUnreachableError,
    UsageError,
)
from ingest.local.load import Loaded, LoadOptions, load
from ingest.local.servers import Addresses
from tests.patience import ANSWER_S

FIXTURES = Path(__file__).parents[2] / "registry_fixtures"
SQLSERVER = FIXTURES / "sqlserver"
CUSTOMERS = "sqs.testDB.dbo.customers"
pytestmark = pytest.mark.servers


def run(servers: Addresses, folder: Path = SQLSERVER, **options: Any) -> Loaded:
    """Load a folder into the suite's servers."""
    return load(folder, servers.bootstrap_servers, servers.registry_url, LoadOptions(**options))


def read_topic(servers: Addresses, topic: str) -> list[Message]:
    """Read all messages of a topic, partition by partition."""
    config = {"bootstrap.servers": servers.bootstrap_servers, "group.id": "none"}
    consumer = Consumer({**config, "enable.auto.commit": False})
    count = len(consumer.list_topics(topic, timeout=ANSWER_S).topics[topic].partitions)
    places = [TopicPartition(topic, number, 0) for number in range(count)]
    due = sum(consumer.get_watermark_offsets(position)[1] for position in places)
    consumer.assign(places)
    messages = consumer.consume(due, timeout=20) if due else []
    consumer.close()
    assert len(messages) == due
    return sorted(messages, key=lambda message: (message.partition(), message.offset()))


def recorded(topic: str, folder: Path = SQLSERVER) -> Iterator[dict[str, Any]]:
    """Read the lines of a recorded topic, without the code under test."""
    with gzip.open(folder / "messages" / f"{topic}.jsonl.gz", "rt") as lines:
        yield from map(json.loads, lines)


def schema_texts() -> dict[int, Any]:
    """Read the recorded schemas by recorded id, without the code under test."""
    fixture = json.loads((SQLSERVER / "fixture.json").read_text())
    return {
        entry["id"]: json.loads((SQLSERVER / entry["subject"] / f"v{entry['version']}.avsc").read_text())
        for entry in fixture["schemas"]
    }


def test_messages_arrive_as_recorded_with_the_registrys_ids(servers: Addresses) -> None:
    """Order, timestamps, headers, tombstones, bodies; each id names the schema that wrote the payload."""
    loaded = run(servers, rename=("sqs", "whole"))
    assert loaded.produced == 904
    client = SchemaRegistryClient({"url": servers.registry_url})
    schemas = schema_texts()

    def same(found: bytes | None, text: str | None) -> bool:
        if found is None or text is None:
            return found is text
        was = base64.b64decode(text)
        given = json.loads(client.get_schema(int.from_bytes(found[1:5], "big")).schema_str or "")
        return found[5:] == was[5:] and given == schemas[int.from_bytes(was[1:5], "big")]

    for topic in ("sqs", CUSTOMERS, "sqs.transaction"):
        messages = read_topic(servers, topic.replace("sqs", "whole", 1))
        for message, line in zip(messages, recorded(topic), strict=True):
            headers = [[k, v and base64.b64encode(v).decode()] for k, v in message.headers() or []]
            assert (message.timestamp()[1], headers) == (line["ts"], line["h"])
            assert same(message.key(), line["k"])
            assert same(message.value(), line["v"])


def test_a_second_load_produces_nothing(servers: Addresses) -> None:
    """Registered again, not produced again."""
    first = run(servers, rename=("sqs", "twice"))
    again = run(servers, rename=("sqs", "twice"))
    assert again.produced == 0
    assert [t.held_before for t in again.topics] == [t.produced for t in first.topics]


def test_versions_show_a_schema_change_arriving(servers: Addresses) -> None:
    """One version after the other: registered when its messages come, and the topic as one load leaves it."""
    pattern = ("*.customers",)
    client = SchemaRegistryClient({"url": servers.registry_url})
    produced = []
    for versions in (1, 2, None):
        loaded = run(servers, topics=pattern, versions=versions, rename=("sqs", "steps"))
        produced.append(loaded.produced)
        result = client.get_versions("steps.testDB.dbo.customers-value")
        assert result == list(range(1, (versions or 3) + 1))
    assert sum(produced) == 220
    assert all(produced)
    values = [message.value() for message in read_topic(servers, "steps.testDB.dbo.customers")]
    lines = [base64.b64decode(line["v"]) if line["v"] else None for line in recorded(CUSTOMERS)]
    assert [v and v[5:] for v in values] == [v and v[5:] for v in lines]


def test_another_number_of_partitions_places_keys_as_a_real_producer_does(
    servers: Addresses,
) -> None:
    """In slices too; librdkafka's murmur2 is the judge."""
    options = {"topics": (CUSTOMERS,), "partitions": 3, "rename": ("sqs", "spread")}
    assert run(servers, **options, limit=50).produced == 50
    assert run(servers, **options, limit=51).produced == 1
    assert run(servers, **options).produced == 169
    messages = read_topic(servers, "spread.testDB.dbo.customers")
    assert run(servers, **{**options, "rename": ("sqs", "judge"), "limit": 0}).produced == 0
    producer = Producer({"bootstrap.servers": servers.bootstrap_servers, "partitioner": "murmur2_random"})
    for message in messages:
        producer.produce("judge.testDB.dbo.customers", key=message.key(), value=b"")
    assert producer.flush(10) == 0
    judged = {m.key(): m.partition() for m in read_topic(servers, "judge.testDB.dbo.customers")}
    assert {message.key(): message.partition() for message in messages} == judged
    assert len(set(judged.values())) == 3


def test_a_corpus_folder_loads_like_a_fixture(servers: Addresses, tmp_path: Path) -> None:
    """The same recording in the layout of a dump: nothing is left to produce."""
    fixture = json.loads((SQLSERVER / "fixture.json").read_text())
    dump = [
        {**entry, "schema": (SQLSERVER / entry["subject"] / f"v{entry['version']}.avsc").read_text()}
        for entry in fixture["schemas"]
    ]
    (tmp_path / "registry.json").write_text(json.dumps(dump))
    shutil.copytree(SQLSERVER / "messages", tmp_path / "topics")
    run(servers, rename=("sqs", "dump"))
    loaded = run(servers, tmp_path, rename=("sqs", "dump"))
    assert (loaded.produced, sum(topic.held_before for topic in loaded.topics)) == (0, 904)


@pytest.mark.parametrize(
    ("name", "prefix", "topic"),
    [
        ("postgres", "pgs", "inv.all_types"),
        ("oracle", "ors", "DEBEZIUM.ALL_TYPES"),
        ("mongodb", "mgs", "inventory.mixed"),
    ],
)
def test_every_connectors_recording_loads(servers: Addresses, name: str, prefix: str, topic: str) -> None:
    """All its topics and schemas, those with scales that other registries' clients refuse too."""
    explained = json.loads((FIXTURES / name / "fixture.json").read_text())
    loaded = run(servers, FIXTURES / name, rename=(prefix, f"all{name}"))
    assert loaded.produced == sum(entry["messages"] for entry in explained["topics"])
    assert loaded.schemas == len(explained["schemas"])
    assert all(f"all{name}" in item.topic for item in loaded.topics)
    assert read_topic(servers, f"all{name}.{topic}")


@pytest.mark.parametrize(("name", "prefix"), [("postgres-json", "pgj"), ("sqlserver-json", "sqs")])
def test_json_is_loaded_as_recorded_without_a_registry(servers: Addresses, name: str, prefix: str) -> None:
    """Byte by byte, and nothing listens at the registry's address."""
    options = LoadOptions(rename=(prefix, f"all{name}"), partitions=1)
    loaded = load(FIXTURES / name, servers.bootstrap_servers, "http://127.0.0.1:9", options)
    assert loaded.schemas == 0
    for topic in loaded.topics:
        recorded_name = topic.topic.replace(f"all{name}", prefix, 1)
        lines = list(recorded(recorded_name, FIXTURES / name))
        results = [(message.key(), message.value()) for message in read_topic(servers, topic.topic)]
        assert results == [
            tuple(text and base64.b64decode(text) for text in (line["k"], line["v"])) for line in lines
        ]


def test_versions_of_a_recording_without_schemas_are_refused(servers: Addresses) -> None:
    """JSON payloads have no versions by which a topic could be cut."""
    with pytest.raises(UsageError, match=r"--versions: .* has no schemas"):
        run(servers, FIXTURES / "sqlserver-json", versions=1)


def test_a_topic_with_other_partitions_is_not_mixed_up(servers: Addresses) -> None:
    """Its end offsets would not tell what it holds."""
    run(servers, topics=("sqs",), rename=("sqs", "other"), partitions=2)
    with pytest.raises(UsageError, match="topic other has 2 partitions, not 1"):
        run(servers, topics=("sqs",), rename=("sqs", "other"))


def test_an_incompatible_recording_is_refused_with_the_registrys_reason(
    servers: Addresses, tmp_path: Path
) -> None:
    """Subject, version and the 409's text; no topic was made."""
    (tmp_path / "topics").mkdir()
    (tmp_path / "topics" / "bad.jsonl.gz").write_bytes(gzip.compress(b""))
    dump = [
        {"subject": "bad-value", "version": number, "id": number, "schema": text}
        for number, text in ((1, '"string"'), (2, '"int"'))
    ]
    (tmp_path / "registry.json").write_text(json.dumps(dump))
    with pytest.raises(RegistryRefusedError, match=r"registering bad-value version 2: HTTP 409: .*INT"):
        run(servers, tmp_path)
    admin = AdminClient({"bootstrap.servers": servers.bootstrap_servers})
    assert "bad" not in admin.list_topics(timeout=ANSWER_S).topics


def test_servers_out_of_reach_are_temporary(servers: Addresses) -> None:
    """Exit code 75, whichever of the two it is."""
    with pytest.raises(RegistryUnreachableError, match=r"127\.0\.0\.1:9: "):
        load(SQLSERVER, servers.bootstrap_servers, "http://127.0.0.1:9")
    with pytest.raises(BrokerUnreachableError, match=r"127\.0\.0\.1:9: "):
        load(SQLSERVER, "127.0.0.1:9", servers.registry_url)


def test_the_command_prints_its_actions(servers: Addresses) -> None:
    """A table that fits 100 columns, with the sum at its end."""
    flags = ["--bootstrap-servers", servers.bootstrap_servers, "--registry-url", servers.registry_url]
    command = [sys.executable, "-c", "from ingest.cli.local import app; app()", "produce", str(SQLSERVER)]
    choice = ["--topic", "*widen", "--topic", "*orders", "--rename", "sqs", "printed"]
    done = subprocess.run([*command, *choice, *flags], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    assert lines[2].split() == ["printed.testDB.dbo.orders", "196", "0", "1"]
    assert lines[-1].split() == ["321", "messages", "in", "all;", "6", "schema", "versions", "registered"]
    assert max(map(len, lines)) <= 100
    assert done.stderr == ""
