"""Several topics become one table: each row belongs to its topic, and each topic has a commit of its own."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

import pytest

from ingest.errors import UsageError
from ingest.report.outcome import TableOutcome
from ingest.testing import Columns, Topic
from tests.e2e.deployment import Deployment
from tests.e2e.tablefiles import add_text, allow_no_rejects, set_policies
from tests.e2e.test_evolution import GOES_ON, GROUPS, columns_of, row_of
from tests.e2e.test_rebuild import rebuild
from tests.hudi.conftest import timeline_of
from tests.long_files import write_out
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

ORDERS: Final[Columns] = {"id": "int", "note": ["null", "string"]}
Make = Callable[[], Deployment]


def make_shards(
    deployment: Deployment, *columns: Columns, key: Sequence[str] = ("id",), edit: str = "", **target: str
) -> list[Topic]:
    """Make a topic for each set of columns, and one table file for all of them."""
    shards = [
        deployment.topic(f"{deployment.prefix}s{number}.inv.orders", shard, key=key)
        for number, shard in enumerate(columns, start=1)
    ]
    with deployment.session as session:
        session.onboard([f"{deployment.prefix}s*.inv.*"], name="{table}", merge=True)
    write_out(deployment.tables)
    path = deployment.tables / "orders.toml"
    text = path.read_text()
    for name, value in target.items():
        before = next(line for line in text.splitlines() if line.startswith(f"{name} = "))
        text = text.replace(before, f'{name} = "{value}"')
    path.write_text(text)
    if edit:
        add_text(deployment, "orders", edit)
    return shards


def rows(deployment: Deployment) -> set[tuple[Any, ...]]:
    """Return shard, id and note of each row."""
    frame = deployment.frame("orders").select("_cdc_source", "id", "note")
    found = [(row[0].partition(".")[0][-2:], row[1], row[2]) for row in frame.collect()]
    assert len(set(found)) == len(found)
    return set(found)


def run(deployment: Deployment) -> TableOutcome:
    """Run the table."""
    (outcome,) = deployment.run().tables
    return outcome


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_rows_belong_to_their_topic(make_deployment: Make, kind: str) -> None:
    """Topics may have the same keys: a change, a delete or a replay touches the rows of its own topic."""
    deployment = make_deployment()
    first, second = make_shards(deployment, ORDERS, ORDERS, type=kind)
    first.send(first.create({"id": 1, "note": "a"}), first.create({"id": 2, "note": "b"}))
    second.send(second.create({"id": 1, "note": "c"}, at=900), second.create({"id": 3, "note": "d"}))

    loaded = run(deployment)
    assert loaded.outcome == "committed"
    assert rows(deployment) == {("s1", 1, "a"), ("s1", 2, "b"), ("s2", 1, "c"), ("s2", 3, "d")}
    first.send(first.update({"id": 1, "note": "A"}), first.delete({"id": 2, "note": "b"}))
    second.send(second.delete({"id": 1, "note": "c"}), second.create({"id": 2, "note": "e"}))
    run(deployment)

    after = {("s1", 1, "A"), ("s2", 3, "d"), ("s2", 2, "e")}
    assert rows(deployment) == after
    assert run(deployment).outcome == "idle"
    for topic in (first, second):
        deployment.session.move_offsets("orders", "earliest", topic=topic.name)
    assert run(deployment).outcome == "committed"
    assert rows(deployment) == after
    with deployment.session as session:
        (checked,) = session.verify_files(["orders"])
    assert (checked.outcome, checked.rows) == ("sound", len(after))


def test_a_failing_topic_stops_no_other(make_deployment: Make) -> None:
    """A topic without its schema, or that is gone, fails by itself; the report and the exit code say it."""
    deployment = make_deployment()
    first, second = make_shards(deployment, ORDERS, ORDERS)
    allow_no_rejects(deployment, "orders")
    for number, topic in enumerate((first, second), start=1):
        topic.send(topic.create({"id": number, "note": "a"}))
    first.produce([(first.key_bytes({"id": 9}), b"\x00\x7f\x7f\x7f\x7fbad")])

    outcome = run(deployment)

    assert rows(deployment) == {("s2", 2, "a")}
    assert [topic.outcome for topic in outcome.topics] == ["failed", "committed"]
    assert outcome.outcome == "failed"
    assert "1 of 2 messages are rejected" in str(outcome.error)
    report = outcome.to_json()
    assert report["offsets"]["to"] == {f"{second.name}-0": 1}
    assert (report["read"], report["topics"][1]["read"]) == (2, 1)  # one reject is known of the first


def test_a_failing_topic_stops_the_others_if_told_to(make_deployment: Make) -> None:
    """With `failure = "stop"`, nothing is read while a topic is gone."""
    deployment = make_deployment()
    first, _ = make_shards(deployment, ORDERS, ORDERS, failure="stop")
    first.send(first.create({"id": 1, "note": "a"}))
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text().replace('orders"]', 'orders", "gone.inv.orders"]'))

    outcome = run(deployment)

    assert outcome.outcome == "failed"
    assert "topic gone.inv.orders does not exist" in str(outcome.error)
    assert not (deployment.root / "lake" / "orders").exists()
    path.write_text(path.read_text().replace('"stop"', '"continue"'))
    outcome = run(deployment)
    assert [topic.outcome for topic in outcome.topics] == ["committed", "idle", "failed"]
    assert rows(deployment) == {("s1", 1, "a")}


@pytest.mark.pairs  # docs/examples/test_shards.py shows the same
def test_a_new_shard_is_planned_and_read(make_deployment: Make) -> None:
    """A pattern follows new topics: `plan` names one, and a run reads it from its beginning."""
    deployment = make_deployment()
    (first,) = make_shards(deployment, ORDERS)
    first.send(first.create({"id": 1, "note": "a"}))
    text = (deployment.tables / "orders.toml").read_text()
    assert f'topics = ["{deployment.prefix}s*.inv.orders"]' in text
    run(deployment)
    third = deployment.topic(f"{deployment.prefix}s3.inv.orders", {**ORDERS, "city": ["null", "string"]})
    third.send(third.create({"id": 1, "note": "c", "city": "Bath"}))

    (plan,) = deployment.plan()

    assert [(topic.topic, topic.is_new_topic) for topic in plan.topics] == [
        (first.name, False),
        (third.name, True),
    ]
    assert [change.column for change in plan.columns] == ["city"]
    run(deployment)
    assert rows(deployment) == {("s1", 1, "a"), ("s3", 1, "c")}


def test_shared_keys_are_refused(make_deployment: Make) -> None:
    """With `keys = "unique"`, `plan` and run refuse a key of another topic, until that row is gone."""
    deployment = make_deployment()
    first, second = make_shards(deployment, ORDERS, ORDERS, keys="unique")
    first.send(first.create({"id": 1, "note": "a"}))
    second.send(second.create({"id": 1, "note": "b"}), second.create({"id": 2, "note": "c"}))

    (plan,) = deployment.plan()
    outcome = run(deployment)

    assert [topic.verdict for topic in plan.topics] == ["commit", "fail"]
    assert [topic.outcome for topic in outcome.topics] == ["committed", "failed"]
    assert f"is also that of a row from {first.name}-0-0" in str(outcome.error)
    assert str(outcome.error) == str(plan.error)
    first.send(first.delete({"id": 1, "note": "a"}))
    assert run(deployment).outcome == "committed"
    assert rows(deployment) == {("s2", 1, "b"), ("s2", 2, "c")}


def test_topics_must_have_one_key(make_deployment: Make) -> None:
    """Other key columns, or a type that does not fit, stop only their topic; `plan` says so before."""
    deployment = make_deployment()
    first, second, third = make_shards(deployment, ORDERS, ORDERS, ORDERS)
    second.key_version({"note": "string"})
    third.key_version({"id": "string"})
    third.version({"id": "string", "note": "string"})
    first.send(first.create({"id": 1, "note": "a"}))
    second.send(second.create({"id": 1, "note": "b"}))
    third.send(third.create({"id": "x", "note": "c"}))
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text().replace('columns = ["id"]', "columns = []"))

    (plan,) = deployment.plan()
    outcome = run(deployment)

    assert [topic.verdict for topic in plan.topics] == ["commit", "fail", "fail"]
    assert [str(topic.error) for topic in outcome.topics] == [str(topic.error) for topic in plan.topics]
    assert "has the key note, and the table has id from its other topics" in str(outcome.topics[1].error)
    assert "was written as int and as string" in str(outcome.topics[2].error)
    assert rows(deployment) == {("s1", 1, "a")}


@pytest.mark.pairs
@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("is_old_first", [True, False])
def test_versions_of_two_shards_fit_one_table(
    make_deployment: Make,
    group: str,
    kind: str,
    is_old_first: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    """One shard is at version 1, the other at 2: as if both had come from one topic, in either order."""
    deployment, cases = make_deployment(), GROUPS[group]
    if not is_old_first:  # the first topic names and types these columns
        moved = ("field_first",)
        cases = {
            name: case
            for name, case in cases.items()
            if not (case.new_name or case.extra_column or name in moved)
        }
    versions = (False, True) if is_old_first else (True, False)
    columns = [columns_of(cases, new=new) for new in versions]
    if is_old_first:  # its next version has the aliases
        columns[1] = {"id": "int"}
    shards = make_shards(deployment, *columns, type=kind)
    set_policies(deployment, "orders", GOES_ON)
    for case in cases.values():
        add_text(deployment, "orders", case.renamed_by)
    if is_old_first:
        aliases = {
            case.new_name: name for name, case in cases.items() if case.new_name and not case.renamed_by
        }
        shards[1].version(columns_of(cases, new=True), renamed=aliases)
    for topic, new in zip(shards, versions, strict=True):
        topic.send(*(topic.create(row_of(cases, number, new=new)) for number in (1, 2)))

    (plan,), outcome = deployment.plan(), run(deployment)

    assert outcome.outcome == "committed", outcome.error
    assert plan.counts == outcome.counts
    frame = deployment.frame("orders")
    types = dict(frame.dtypes)
    found = {(row["_cdc_source"], row["id"]): row.asDict(recursive=True) for row in frame.collect()}
    for name, case in cases.items():
        stored = {False: case.stored_old, True: case.stored_new}
        expected = {(t.name, n): stored[new] for t, new in zip(shards, versions, strict=True) for n in (1, 2)}
        assert {key: row[name] for key, row in found.items()} == expected, name
        assert types[name] == case.spark, name


def test_rejects_and_offsets_are_those_of_a_topic(make_deployment: Make) -> None:
    """Rejects of two topics at the same offset are two; each is shown, replayed and read again by itself."""
    deployment = make_deployment()
    first, second = make_shards(deployment, ORDERS, ORDERS)
    path = deployment.tables / "orders.toml"
    path.write_text(path.read_text().replace("max_share = 0.01", "max_share = 1.0"))
    for number, topic in enumerate((first, second), start=1):
        topic.produce([(topic.key_bytes({"id": 9}), b"\x00\x7f\x7f\x7f\x7fbad")])
        topic.send(topic.create({"id": number, "note": "a"}))

    outcome = run(deployment)

    with deployment.session as session:
        assert (outcome.counts.read, outcome.counts.rejected) == (4, 2)
        assert [reject.topic for reject in session.rejects("orders").records] == [first.name, second.name]
        with pytest.raises(UsageError, match=f"Name one with --topic: {first.name}, {second.name}"):
            session.reject("orders", 0, 0)
        assert session.reject("orders", 0, 0, topic=second.name).topic == second.name
        assert session.replay("orders").counts.rejected == 2
        (status,) = session.status()
        assert (status.rejects, status.lag, status.rows) == (2, 0, 2)
        session.move_offsets("orders", "earliest", topic=second.name)
        (status,) = session.status()
        assert status.offsets() == {f"{first.name}-0": 2, f"{second.name}-0": 0}
        assert [topic.lag for topic in status.topics] == [0, 2]
        assert run(deployment).counts.read == 2
        assert session.rejects("orders").open == 2


def test_a_rebuild_reads_all_topics_that_the_table_has_read(make_deployment: Make) -> None:
    """A mask reaches the rows of each topic, columns of one topic and wider types included."""
    deployment = make_deployment()
    wide: Columns = {
        "id": "int",
        "note": ["null", "string"],
        "n": ["null", "long"],
        "city": ["null", "string"],
    }
    first, second, third = make_shards(
        deployment, {**ORDERS, "n": ["null", "int"]}, wide, {**ORDERS, "n": ["null", "int"]}
    )
    first.send(
        first.create({"id": 1, "note": "4929-0001", "n": 1}), first.create({"id": 2, "note": "x", "n": 2})
    )
    first.send(first.delete({"id": 2, "note": "x", "n": 2}))
    second.send(second.create({"id": 1, "note": "4929-0002", "n": 1 << 40, "city": "Bath-0007"}))
    run(deployment)
    third.send(third.create({"id": 1, "note": "4929-0003", "n": 3}))
    add_text(deployment, "orders", '[columns.note]\nmask = "last4"\n[columns.city]\nmask = "last4"')
    (plan,) = deployment.plan()
    assert {topic.rebuild and topic.rebuild.command for topic in plan.topics} == {
        "ingest rebuild orders --from topic"
    }

    path = deployment.tables / "orders.toml"
    text = path.read_text()
    path.write_text(
        text.replace(f'topics = ["{deployment.prefix}s*.inv.orders"]', f'topics = ["{third.name}"]')
    )
    refused = rebuild(deployment, "orders", "topic").error
    assert f"it has rows of topics that its file does not name: {first.name}, {second.name}" in str(refused)
    path.write_text(text)
    rebuilt = rebuild(deployment, "orders", "topic")

    assert rebuilt.error is None
    assert run(deployment).outcome == "committed"  # the third topic, from its beginning
    found = deployment.frame("orders").select("note", "n", "city").collect()
    assert {tuple(row) for row in found} == {
        ("****0001", 1, None), ("****0002", 1 << 40, "****0007"), ("****0003", 3, None),
    }  # fmt: skip
    with deployment.session as session:
        (checked,) = session.verify_files(["orders"])
    assert (checked.outcome, checked.rows) == ("sound", 3)
    assert run(deployment).outcome == "idle"


@pytest.mark.pairs
def test_a_run_killed_between_two_commits_goes_on(make_deployment: Make) -> None:
    """The first topic is committed, the second is not: the next run reads only that, and nothing is lost."""
    deployment = make_deployment()
    first, second = make_shards(deployment, ORDERS, ORDERS)
    for topic in (first, second):
        topic.send(*(topic.create({"id": number, "note": "a"}) for number in range(500)))
    command = [sys.executable, "-m", "ingest", "run", "--settings", str(deployment.root / "ingest.toml")]
    table = deployment.root / "lake" / "orders"
    with subprocess.Popen(command, start_new_session=True) as process:
        deadline = time.monotonic() + PATIENCE_S
        while not list(timeline_of(table).glob("*.commit")):
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)

    outcome = run(deployment)

    assert outcome.topics[0].outcome == "idle"
    assert len(rows(deployment)) == 1000
    assert run(deployment).outcome == "idle"
