"""A topic whose producers changed their framing, over the real broker and Apicurio."""

import json
from pathlib import Path
from urllib.request import urlopen

import pytest

from ingest.testing import Message, nullable
from tests.e2e.deployment import Deployments
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.referee import read_table
from tests.e2e.tablefiles import allow_rejects

pytestmark = [pytest.mark.spark, pytest.mark.servers]

FIRST = {"id": "int", "name": nullable("string")}
SECOND = {**FIRST, "phone": nullable("string")}
THIRD = {**SECOND, "mail": nullable("string")}


def own_ids(topic: Topic, subject: str, version: int) -> dict[str, bytes]:
    """Ask Apicurio's own API for globalId and contentId, as its serializers do."""
    root = topic.servers.addresses.registry_url.partition("/apis/")[0]
    path = f"{root}/apis/registry/v2/groups/default/artifacts/{subject}/versions/{version}/meta"
    with urlopen(path, timeout=10) as answer:  # noqa: S310  loopback
        ids = json.load(answer)
    return {kind: ids[kind].to_bytes(8, "big") for kind in ("globalId", "contentId")}


def change(number: int, **row: str) -> Change:
    """Create row `number`."""
    return Change("c", {"id": number, **row}, at=number)


def bare(message: Message) -> Message:
    """Return key and value without Confluent's header."""
    key, value = message
    return key and key[5:], value and value[5:]


def test_a_topic_of_mixed_framings_becomes_its_rows(tmp_path: Path, deployments: Deployments) -> None:
    """A schema of another subject is found; a replay reads the headers again."""
    deployment = deployments.recorded(tmp_path, prefix="frm")
    (topic,) = make_topics(deployments.servers, {"frm.db.dbo.mixed": FIRST}).values()
    first_id, second_id = topic.last_id, topic.add_version(SECOND)
    deployment.onboard([topic.name])
    allow_rejects(deployment, "mixed")
    key = own_ids(topic, f"{topic.name}-key", 1)
    first, second = (own_ids(topic, f"{topic.name}-value", version) for version in (1, 2))
    elsewhere = topic.version(THIRD, subject="frm.elsewhere-value")
    third = own_ids(topic, "frm.elsewhere-value", 1)

    def send(number: int, ids: dict[str, bytes], schema_id: int, **row: str) -> None:
        body = bare(topic.record(change(number, **row), schema_id))
        headers = {"apicurio.key.contentId": key["contentId"], "apicurio.value.globalId": ids["globalId"]}
        topic.produce([body], headers=headers)

    topic.send(change(1, name="a"), schema_id=first_id)
    send(2, first, first_id, name="b")
    send(3, second, second_id, name="c", phone="3")
    key_body, value_body = bare(topic.record(change(4, name="d", phone="4"), second_id))
    topic.produce([(b"\0" + key["globalId"] + key_body, b"\0" + second["globalId"] + value_body)])
    (done,) = deployment.run(["mixed"]).tables
    assert (done.counts.upserted, done.counts.rejected) == (1, 3)

    path = deployment.tables / "mixed.toml"
    framings = 'framings = ["confluent", "apicurio-headers", "apicurio-8-byte-global-id"]\n'
    path.write_text(framings + path.read_text())
    with deployment.session as session:
        assert session.replay("mixed").resolved == 3
    send(5, third, elsewhere, name="e", mail="5")
    topic.produce(topic.tombstone({"id": 1}), headers={"apicurio.value.globalId": bytes(8)})
    (done,) = deployment.run(["mixed"]).tables
    assert (done.outcome, done.counts.rejected) == ("committed", 0)
    assert elsewhere in done.counts.schema_ids
    rows = read_table(deployment.frame("mixed"), ["id"])
    assert {key[0]: (row["name"], row["phone"], row["mail"]) for key, row in rows.items()} == {
        2: ("b", None, None),
        3: ("c", "3", None),
        4: ("d", "4", None),
        5: ("e", None, "5"),
    }


def test_the_source_of_a_table_is_found_in_any_framing(tmp_path: Path, deployments: Deployments) -> None:
    """Verify reads the source block of messages whose schema is named by a header."""
    deployment = deployments.recorded(tmp_path, prefix="frs")
    (topic,) = make_topics(deployments.servers, {"frs.db.dbo.headed": FIRST}).values()
    deployment.onboard([topic.name])
    path = deployment.tables / "headed.toml"
    path.write_text('framings = ["apicurio-headers"]\n' + path.read_text())
    key, value = (own_ids(topic, f"{topic.name}-{side}", 1) for side in ("key", "value"))
    headers = {"apicurio.key.contentId": key["contentId"], "apicurio.value.globalId": value["globalId"]}
    topic.produce([bare(topic.record(change(1, name="a"), topic.last_id))], headers=headers)
    settings = tmp_path / "ingest.toml"
    source = '[sources.other]\nurl = "jdbc:sqlserver://127.0.0.1:1;databaseName=elsewhere"\n'
    settings.write_text(settings.read_text() + source)
    with deployment.session as session:
        (answer,) = session.verify(["headed"]).tables
    assert "its topic comes from db.dbo.headed (sqlserver, prefix frs)" in str(answer.error)
