"""Records that are too large are rejected by name, without their bytes; a higher limit applies them."""

import json
from collections.abc import Callable
from typing import Any, Final

import pytest
from confluent_kafka import Producer

from ingest.testing import nullable
from ingest.testing.servers import LocalServers
from tests.decode.wide import json_event, json_schema
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.long_files import write_out

pytestmark = [pytest.mark.spark, pytest.mark.servers]

FIELDS: Final = [{"name": f"f{n}", "type": ["null", "int"]} for n in range(20)]
ITEM: Final = {"type": "record", "name": "Item", "fields": FIELDS}
COLUMNS: Final = {
    "id": "int", "v": nullable("string"), "items": nullable({"type": "array", "items": ITEM}),
}  # fmt: skip
MIB: Final = 1 << 20
EMPTY: Final = {f"f{n}": None for n in range(20)}


def change(number: int, text: str = "", items: int = 0) -> Change:
    """Create a row with a text and an array of records of nulls."""
    return Change("c", {"id": number, "v": text, "items": [EMPTY] * items}, at=number)


def produce(deployment: Deployment, topic: str, key: bytes, value: bytes) -> None:
    """Append a message that compresses well."""
    options = {"message.max.bytes": 200 * MIB, "compression.type": "zstd"}
    producer = Producer({"bootstrap.servers": deployment.servers.bootstrap_servers, **options})
    producer.produce(topic, value, key)
    assert producer.flush(30) == 0


def limit(deployment: Deployment, table: str, mib: int) -> None:
    """Set the largest record of a table file."""
    path = deployment.tables / f"{table}.toml"
    old = next(line for line in path.read_text().splitlines() if line.startswith("max_record_mb = "))
    path.write_text(path.read_text().replace(old, f"max_record_mb = {mib}"))


def send(deployment: Deployment, topic: Topic, *changes: Change) -> None:
    """Append changes, whatever their size."""
    for each in changes:
        key, value = topic.record(each)
        assert key is not None
        assert value is not None
        produce(deployment, topic.name, key, value)


def test_a_record_beyond_the_limit_is_a_reject_and_a_replay_applies_it(
    make_deployment: Callable[[], Deployment],
) -> None:
    """By its bytes in Kafka or by its decoded values, which take 20 times as much; the rest is applied."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.db.dbo.large"
    (topic,) = make_topics(deployment.servers, {name: COLUMNS}).values()
    deployment.onboard([name])
    limit(deployment, "large", 1)
    large, wide = change(2, "x" * (2 * MIB)), change(3, items=20_000)
    send(deployment, topic, change(1, "a"), large, wide, change(4, "d"))

    (done,) = deployment.run().tables

    assert (done.outcome, done.counts.read, done.counts.rejected) == ("committed", 4, 2)
    with deployment.session as session:
        first, second = session.rejects("large").records
        assert (first.reason, first.offset, second.reason, second.offset) == ("too-large", 1, "too-large", 2)
        assert "record: 2,097,2" in first.error
        assert "bytes; allowed: [rejects] max_record_mb = 1" in first.error
        assert "value: decoded, it takes more than 4 times the memory of the largest record" in second.error
        assert session.reject("large", 0, 1).value is None
        assert session.replay("large").counts.rejected == 2  # as large as before
        limit(deployment, "large", 64)
        assert session.replay("large").resolved == 2
        assert session.rejects("large").records == ()
    rows = {row.id: row for row in deployment.frame("large").collect()}
    assert {number: len(row.v) for number, row in rows.items()} == {1: 1, 2: 2 * MIB, 3: 0, 4: 1}
    assert len(rows[3]["items"]) == 20_000


def test_a_policy_lets_a_large_record_stop_the_table(make_deployment: Callable[[], Deployment]) -> None:
    """The error names the record; nothing is committed."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.db.dbo.large"
    (topic,) = make_topics(deployment.servers, {name: COLUMNS}).values()
    deployment.onboard([name])
    limit(deployment, "large", 1)
    path = deployment.tables / "large.toml"
    path.write_text(path.read_text().replace('too_large = "reject"', 'too_large = "fail"'))
    send(deployment, topic, change(1, "a"), change(2, "x" * (2 * MIB)))

    report = deployment.run()

    assert (report.exit_code, report.tables[0].instant) == (1, None)
    assert f"{name}-0-1: record: 2,097,2" in str(report.tables[0].error)


@pytest.mark.parametrize("framings", ['["confluent", "apicurio-8-byte-global-id"]', '["apicurio-headers"]'])
def test_a_large_record_is_one_in_every_framing(
    make_deployment: Callable[[], Deployment], framings: str
) -> None:
    """Also where the schema's id stands in the headers, which are not kept either."""
    deployment = make_deployment()
    name = f"{deployment.prefix}.db.dbo.framed"
    (topic,) = make_topics(deployment.servers, {name: COLUMNS}).values()
    deployment.onboard([name])
    limit(deployment, "framed", 1)
    path = deployment.tables / "framed.toml"
    path.write_text(f"framings = {framings}\n{path.read_text()}")
    send(deployment, topic, change(1, "x" * (2 * MIB)))

    (done,) = deployment.run().tables

    assert (done.outcome, done.counts.rejected) == ("committed", 1), done.error
    with deployment.session as session:
        assert session.rejects("framed").reasons == {"too-large": 1}


def test_large_texts_of_json_are_rejected_too(make_deployment: Callable[[], Deployment]) -> None:
    """With their schema in each message; onboarding skips a record that librdkafka does not expand."""
    deployment = make_deployment()
    topic, schema = f"{deployment.prefix}.s.texts", json_schema(1)
    LocalServers(deployment.servers).make_topic(topic)
    names = [field["field"] for field in schema["fields"][1]["fields"]]

    def event(number: int, size: int) -> bytes:
        row: dict[str, Any] = {**dict.fromkeys(names), "id": number}
        text = json.dumps({"schema": schema, "payload": json_event(row)}, separators=(",", ":"))
        return (text[:-1] + " " * size + "}").encode()

    key = {
        "type": "struct",
        "optional": False,
        "fields": [{"type": "int32", "optional": False, "field": "id"}],
    }
    for number, size in ((1, 0), (2, 2 * MIB), (3, 0), (4, 101 * MIB)):
        text = json.dumps({"schema": key, "payload": {"id": number}}, separators=(",", ":"))
        produce(deployment, topic, text.encode(), event(number, size))
    deployment.session.onboard([topic], name="{table}", format="debezium-json")
    write_out(deployment.tables)
    limit(deployment, "texts", 1)

    (done,) = deployment.run().tables

    assert (done.outcome, done.counts.read, done.counts.rejected) == ("committed", 4, 2), done.error
    with deployment.session as session:
        assert session.rejects("texts").reasons == {"too-large": 2}
    assert sorted(row.id for row in deployment.frame("texts").collect()) == [1, 3]
