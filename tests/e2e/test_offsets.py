"""Topics that do not continue from a table's checkpoint, and restored tables, on real servers."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

from ingest.cli.app import app
from ingest.errors import OffsetError
from ingest.local.topics import create_topics
from ingest.report.outcome import TableOutcome
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.patience import ANSWER_S
from tests.transactions import transaction

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}


def creates(*numbers: int) -> list[Change]:
    """Return one insert per key."""
    return [Change("c", {"id": number, "v": f"v{number}"}, at=number) for number in numbers]


def keys(deployment: Deployment, table: str) -> list[int]:
    """Read the keys of a table."""
    return sorted(row["id"] for row in deployment.frame(table).select("id").collect())


def run(deployment: Deployment) -> dict[str, TableOutcome]:
    """Run all tables."""
    return {outcome.table: outcome for outcome in deployment.run().tables}


def paste(deployment: Deployment, error: str) -> Any:
    """Run the command of an error message, read by the real parser."""
    command = re.search(r"`ingest (offsets set [^`]*)`", error)
    assert command, error
    _, bound, *_ = app.parse_args(command[1], print_error=False, exit_on_error=False)
    return deployment.session.move_offsets(bound.arguments["table"], bound.arguments["to"])


def abort(deployment: Deployment, topic: Topic, change: Change) -> None:
    """Produce in a transaction that is aborted."""
    with transaction(deployment.servers.bootstrap_servers, commit=False) as producer:
        for key, value in topic.records([change]):
            producer.produce(topic.name, value, key, partition=0)


def spoil(deployment: Deployment, topics: Mapping[str, Topic]) -> None:
    """Expire records, recreate a topic with more records than were read, add a partition."""
    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})
    lost, anew, saved = (topics[name] for name in ("lost", "anew", "saved"))
    lost.send(*creates(3, 4, 5))
    before = TopicPartition(lost.name, 0, 4)
    admin.delete_records([before])[before].result(timeout=ANSWER_S)
    admin.delete_topics([anew.name])[anew.name].result(timeout=ANSWER_S)
    create_topics(admin, [NewTopic(anew.name, 1, 1)])
    anew.send(*creates(3, 4, 5))
    admin.create_partitions([NewPartitions(saved.name, 2)])[saved.name].result(timeout=ANSWER_S)
    saved.produce(saved.records(creates(3)), partition=1)


def error_without(deployment: Deployment, topic: Topic) -> str:
    """Delete a topic, and return the error of its table's next run."""
    admin = AdminClient({"bootstrap.servers": deployment.servers.bootstrap_servers})
    admin.delete_topics([topic.name])[topic.name].result(timeout=ANSWER_S)
    return str(run(deployment)[topic.name.rpartition(".")[2]].error)


def savepoint(deployment: Deployment, table: str, instant: str) -> Callable[[], None]:
    """Set a savepoint with Hudi's own procedures; return a function that restores it."""
    path = str(deployment.root / "lake" / table)
    spark = deployment.spark
    result = spark.sql(f"call create_savepoint(path => '{path}', commit_time => '{instant}')").collect()
    assert [row[0] for row in result] == [True]

    def restore() -> None:
        done = spark.sql(f"call rollback_to_savepoint(path => '{path}', instant_time => '{instant}')")
        assert [row[0] for row in done.collect()] == [True]

    return restore


def test_broken_topics_fail_alone_and_restored_tables_read_on(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Each broken table fails alone; the error has the lost offsets and the command that accepts the loss.

    An added partition and a range of only aborted records are not errors.  A restored table reads on from its
    restored offsets.
    """
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("lost", "anew", "saved")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    for topic in topics.values():
        topic.send(*creates(1, 2))
    first = run(deployment)
    assert {outcome.outcome for outcome in first.values()} == {"committed"}
    restore = savepoint(deployment, "saved", str(first["saved"].instant))

    spoil(deployment, topics)
    second = run(deployment)

    assert {name: outcome.outcome for name, outcome in second.items()} == {
        "anew": "failed", "lost": "failed", "saved": "committed",
    }  # fmt: skip
    lost, anew = (str(second[name].error) for name in ("lost", "anew"))
    assert "2 offsets (2 to 3) were deleted from the topic before they were read" in lost
    assert "the topic was deleted and created again" in anew
    assert "up to 0=2; unread messages of the old topic are lost" in anew
    assert keys(deployment, "saved") == [1, 2, 3]
    assert {str(status.error) for status in deployment.session.status(["lost", "anew"])} == {lost, anew}

    moved = paste(deployment, lost)
    assert moved.last.note == "moved to 0=earliest; was 0=2; 2 offsets skipped"
    moved = paste(deployment, anew)
    assert moved.last.note == "moved to earliest; was 0=2 of a topic that was recreated since"
    abort(deployment, topics["saved"], Change("c", {"id": 66, "v": "never"}, at=66))
    third = run(deployment)

    assert {outcome.error for outcome in third.values()} == {None}
    assert third["saved"].counts.read == 0, "aborted records alone"
    assert keys(deployment, "lost") == [1, 2, 5]
    assert keys(deployment, "anew") == [1, 2, 3, 4, 5]
    assert {outcome.outcome for outcome in run(deployment).values()} == {"idle"}

    restore()
    assert keys(deployment, "saved") == [1, 2]
    (status,) = deployment.session.status(["saved"])
    assert status.last is not None
    assert (status.last.instant, status.last.next_offsets) == (first["saved"].instant, {0: 2})
    again = run(deployment)["saved"]
    assert again.ranges is not None
    assert (again.ranges.start_offsets(), again.counts.read) == ({0: 2, 1: 0}, 1)
    assert keys(deployment, "saved") == [1, 2, 3]

    assert "The table has read it before, so it was deleted. Check" in error_without(
        deployment, topics["lost"]
    )


def test_a_table_whose_file_names_another_topic_reads_nothing_of_it(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Plan, run, status and a move of the offsets refuse it by both names; the old topic is read on again.

    Also by a move to a time.
    """
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("orders", "returns")}
    old, new = make_topics(deployment.servers, names).values()
    deployment.onboard([old.name])
    old.send(*creates(1, 2))
    new.send(*creates(7, 8, 9))
    run(deployment)
    path = deployment.tables / "orders.toml"
    text = path.read_text()

    path.write_text(text.replace(old.name, new.name))
    outcome = run(deployment)["orders"]
    (plan,) = deployment.plan()
    (status,) = deployment.session.status()
    with pytest.raises(OffsetError) as moved:
        deployment.session.move_offsets("orders", "earliest")

    assert outcome.outcome == "failed"
    error = str(outcome.error)
    assert f"table orders holds the rows of topic {old.name}, read up to 0=2" in error
    assert f"its table file now names topic {new.name}" in error
    assert str(plan.error) == str(status.error) == str(moved.value) == error
    assert keys(deployment, "orders") == [1, 2]

    path.write_text(text)
    old.send(*creates(3))
    assert run(deployment)["orders"].outcome == "committed"
    assert keys(deployment, "orders") == [1, 2, 3]

    preview = deployment.session.preview_offsets("ord*", "2020-01-01T00:00+02:00")
    assert (preview.table, preview.to) == ("orders", "2019-12-31T22:00:00Z")
    assert (preview.before, preview.after) == ({0: 3}, {0: 0})
    moved = deployment.session.move_offsets("orders", "2020-01-01")
    assert moved.last is not None
    assert (moved.last.note, moved.lag) == ("moved to 2020-01-01T00:00:00Z; was 0=3", 3)
