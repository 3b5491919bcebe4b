"""The versions of a subject over a table's life: planned, compared, applied, checked before registration."""

import json
from pathlib import Path

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from ingest.errors import EvolutionError, SchemaError, SchemaNotFoundError, UsageError
from ingest.testing import decimal, key_schema, nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import allow_no_rejects, allow_rejects, set_policies

pytestmark = [pytest.mark.spark, pytest.mark.servers]

FIRST = {"id": "int", "n": nullable("int")}
SECOND = {**FIRST, "phone": nullable("string")}
THIRD = {**SECOND, "n": nullable(decimal(12, 2))}


def make(deployment: Deployment, name: str) -> Topic:
    """Create a topic with a row of a first version, and run its table."""
    (topic,) = make_topics(deployment.servers, {f"ver.db.dbo.{name}": FIRST}).values()
    deployment.onboard([topic.name])
    topic.send(Change("c", {"id": 1, "n": 1}, at=1))
    assert deployment.run([name]).outcome == "done"
    return topic


def test_a_subjects_life_is_planned_and_reported(deployment: Deployment, tmp_path: Path) -> None:
    """Registered and unused; used; checked before registration; each with ids and commits."""
    topic = make(deployment, "life")
    first_id = topic.last_id
    second_id = topic.add_version(SECOND)
    with deployment.session as session:
        (plan,) = deployment.plan(["life"])
        assert plan.verdict == "idle"
        (version,) = plan.versions
        assert (version.version, version.schema_id, version.waiting) == (2, second_id, False)
        assert [entry.change.kind for entry in version.changes] == ["column-added"]
        assert [(entry.version, entry.commits) for entry in session.history("life")] == [(1, 1), (2, 0)]

        topic.send(Change("c", {"id": 2, "phone": "1"}, at=2))
        topic.send(Change("u", {"id": 1, "n": 2}, at=3), schema_id=first_id)
        done = deployment.run(["life"]).tables[0]
        first, second = session.history("life")
        assert (first.commits, first.last) == (2, done.instant)
        assert (second.commits, second.first, second.last) == (1, done.instant, done.instant)
        assert deployment.plan(["life"])[0].versions == ()

        compared = session.compare("life")
        assert (compared.old.version, compared.new.version) == (1, 2)
        assert compared.changes == session.compare(f"{topic.name}-value", 1, 2).changes
        assert [entry.change.column for entry in compared.changes] == ["phone"]
        with pytest.raises(UsageError, match="has only version 1"):
            session.compare(f"{topic.name}-key")
        with pytest.raises(SchemaNotFoundError, match="version 7"):
            session.compare("life", 1, 7)

        file = tmp_path / "next.avsc"
        file.write_text(json.dumps(topic.envelope(THIRD)))
        checked = session.check("life", file)
        assert checked.passes
        assert (checked.against.version, checked.rewrites) == (2, ("n",))
        assert [entry.change.kind for entry in checked.changes] == ["column-widened"]


def test_a_check_asks_the_registry_and_the_table(deployment: Deployment, tmp_path: Path) -> None:
    """Each with its own reason, with or without the lake; text that is not a schema is an error."""
    topic = make(deployment, "checked")
    client = SchemaRegistryClient({"url": deployment.servers.registry_url})
    client.set_compatibility(f"{topic.name}-value", level="BACKWARD")
    file = tmp_path / "next.avsc"
    with deployment.session as session:
        for registry_only in (False, True):
            file.write_text(json.dumps(topic.envelope({**FIRST, "n": nullable("string")})))
            checked = session.check("checked", file, registry_only=registry_only)
            assert (checked.level, checked.verdict.compatible) == ("BACKWARD", False)
            assert checked.verdict.messages
            (failure,) = checked.failures
            assert (failure.kind, failure.column) == ("column-changed", "n")

            # Avro's rules ignore semantic names and decimals; the table does not.
            file.write_text(json.dumps(topic.envelope({**FIRST, "n": "int"})))
            assert session.check("checked", file, registry_only=registry_only).passes is False
            file.write_text(json.dumps(topic.envelope(SECOND)))
            assert session.check("checked", file, registry_only=registry_only).passes
        file.write_text("{")
        with pytest.raises(SchemaError, match="cannot be read as JSON"):
            session.check("checked", file)
        file.write_text(json.dumps(key_schema("a", {"id": "int"})))
        with pytest.raises(SchemaError, match="not a change event"):
            session.check("checked", file)
    assert client.get_versions(f"{topic.name}-value") == [1]

    topic.add_version({**FIRST, "must": "string"})  # while the level is NONE
    client.set_compatibility(f"{topic.name}-value", level="BACKWARD")
    (version,) = deployment.plan(["checked"])[0].versions
    assert (version.level, bool(version.refusal)) == ("BACKWARD", True)


def test_a_version_that_is_not_an_envelope_stops_once_used(deployment: Deployment) -> None:
    """The plan predicts it; nothing is written; with the policy `reject` its records are rejected."""
    topic = make(deployment, "foreign")
    allow_no_rejects(deployment, "foreign")
    node = key_schema("some.Thing", {"id": "int"})
    foreign = topic.servers.register(f"{topic.name}-value", node, "NONE")
    (plan,) = deployment.plan(["foreign"])
    (version,) = plan.versions
    assert (plan.verdict, [entry.change.kind for entry in version.changes]) == ("idle", ["envelope-changed"])
    topic.produce([(topic.key_bytes({"id": 2}), b"\0" + foreign.to_bytes(4, "big") + b"\x04")])
    topic.send(Change("c", {"id": 3, "n": 3}, at=3))

    (plan,), (done,) = deployment.plan(["foreign"]), deployment.run(["foreign"]).tables

    assert (plan.verdict, done.outcome, done.instant) == ("fail", "failed", None)
    assert isinstance(done.error, EvolutionError)
    assert str(plan.error) == str(done.error)
    assert "not a change event" in str(done.error)
    set_policies(deployment, "foreign", {"envelope-changed": "reject"})
    allow_rejects(deployment, "foreign")
    (done,) = deployment.run(["foreign"]).tables
    assert (done.outcome, done.counts.rejected, done.counts.upserted) == ("committed", 1, 1)


def test_a_subject_deleted_between_plan_and_run_stops_the_run(deployment: Deployment) -> None:
    """Nothing is written, and the error names the subject."""
    topic = make(deployment, "gone")
    topic.send(Change("u", {"id": 1, "n": 2}, at=2))
    (plan,) = deployment.plan(["gone"])
    assert plan.verdict == "commit"
    client = SchemaRegistryClient({"url": deployment.servers.registry_url})
    for permanent in (False, True):
        client.delete_subject(f"{topic.name}-value", permanent=permanent)

    (done,) = deployment.run(["gone"]).tables

    assert isinstance(done.error, SchemaNotFoundError)
    assert f"{topic.name}-value" in str(done.error)
    assert deployment.session.status(["gone"])[0].lag == 1


def test_a_key_that_gets_a_column_stops_the_table(deployment: Deployment) -> None:
    """Two rows could become one; only a policy in the table file lets the table keep its key."""
    topic = make(deployment, "drift")
    topic.key_version({"id": "int", "n": nullable("int")})
    topic.send(Change("c", {"id": 2, "n": 2}, at=2))
    (plan,), (done,) = deployment.plan(["drift"]), deployment.run(["drift"]).tables
    assert isinstance(done.error, EvolutionError)
    assert (done.error.kind, done.error.old, done.error.new) == ("key-changed", "id", "id, n")
    assert str(plan.error) == str(done.error)
    set_policies(deployment, "drift", {"key-changed": "ignore"})
    assert deployment.run(["drift"]).outcome == "done"
    assert {row["id"] for row in deployment.frame("drift").collect()} == {1, 2}
