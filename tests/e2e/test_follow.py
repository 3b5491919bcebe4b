"""`--follow`: messages that arrive between two rounds are in the table after the next round."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from threading import Timer

import pytest
from pyspark.sql import SparkSession

from ingest.api.session import Session
from ingest.run import task
from ingest.spark.java import jvm_of
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, make_topics
from tests.hudi.conftest import timeline_of

pytestmark = [pytest.mark.spark, pytest.mark.servers]


def test_rounds_read_leftover_and_new_messages(
    make_deployment: Callable[[], Deployment], outer_spark: SparkSession
) -> None:
    """One session, one table: three messages, two at a time, then another, then nothing."""
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.f": columns})
    topics["f"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(3)))
    deployment.onboard()

    settings = deployment.root / "ingest.toml"
    with Session.open(settings, tables=deployment.tables, spark=deployment.spark) as session:
        rounds = session.follow(interval_s=0.5, max_offsets=2)
        read = [next(rounds).tables[0].counts.read for _ in range(2)]
        topics["f"].send(Change("u", {"id": 0, "v": "b"}, at=10))
        read += [next(rounds).tables[0].counts.read for _ in range(2)]
        rounds.close()

    assert read == [2, 1, 1, 0]
    path = session.settings.lake.table_path(session.tables()[0].name)
    rows = outer_spark.read.format("hudi").load(path).select("id", "v").collect()
    assert {(row.id, row.v) for row in rows} == {(0, "b"), (1, "a"), (2, "a")}


@pytest.mark.parametrize(("follows", "expected"), [(True, 3), (False, 2)])
def test_a_table_that_waits_for_its_turn_reads_what_came_meanwhile(
    make_deployment: Callable[[], Deployment],
    monkeypatch: pytest.MonkeyPatch,
    follows: bool,  # noqa: FBT001
    expected: int,
) -> None:
    """A round of `--follow` asks again for the ends.  A single run reads up to those at its start."""
    monkeypatch.setattr(task, "FRESH_S", 0.0)
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    names = {f"{deployment.prefix}.testDB.dbo.{name}": columns for name in ("first", "second")}
    topics = make_topics(deployment.servers, names)
    for topic in topics.values():
        topic.send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(2)))
    deployment.onboard()
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write("[run]\nparallel_tables = 1\n")

    def arrive(table: str, step: str) -> None:
        if (table, step) == ("first", "committed"):
            topics["second"].send(Change("c", {"id": 9, "v": "late"}, at=9))

    with deployment.session as session:
        rounds = session.follow(interval_s=0.1, progress=arrive)
        report = next(rounds) if follows else session.run(progress=arrive)
        rounds.close()

    read = {table.table: table.counts.read for table in report.tables}
    assert read == {"first": 2, "second": expected}
    assert {table.measures.lag_offsets for table in report.tables} == {0}


def test_a_round_begins_with_the_table_that_committed_longest_ago(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A table that rarely has news does not wait for the tables that always have some."""
    deployment, order = make_deployment(), list[str]()
    columns = {"id": "int", "v": nullable("string")}
    names = {f"{deployment.prefix}.testDB.dbo.{name}": columns for name in ("busy", "rare")}
    topics = make_topics(deployment.servers, names)
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write("[run]\nparallel_tables = 1\n")

    def note(table: str, step: str) -> None:
        if step == "committed":
            order.append(table)

    for topic in topics.values():
        topic.send(Change("c", {"id": 0, "v": "a"}, at=0))
    deployment.onboard()
    with deployment.session as session:
        rounds = session.follow(interval_s=0.1, progress=note)
        next(rounds)
        for number, changed in enumerate((["busy"], ["busy", "rare"]), 1):
            for name in changed:
                topics[name].send(Change("u", {"id": 0, "v": "b"}, at=number))
            next(rounds)
        rounds.close()
    assert order == ["busy", "rare", "busy", "rare", "busy"]


def test_later_commits_compile_nothing(make_deployment: Callable[[], Deployment]) -> None:
    """No offset, time or id of a run is a literal in generated code: Spark finds the classes of the first."""
    deployment = make_deployment()
    columns = {"id": "int", "v": nullable("string")}
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.f": columns})
    topics["f"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(6)))
    deployment.onboard()

    settings = deployment.root / "ingest.toml"
    compiled = []
    with Session.open(settings, tables=deployment.tables, spark=deployment.spark) as session:
        rounds = session.follow(interval_s=0.1, max_offsets=1)
        for _ in range(5):
            assert next(rounds).tables[0].counts.read == 1
            metrics = jvm_of(session.spark).org.apache.spark.metrics.source.CodegenMetrics
            compiled.append(metrics.METRIC_COMPILATION_TIME().getCount())
        rounds.close()

    assert compiled[2:] == [compiled[2]] * 3  # the first commit loads, the second is the first upsert


def test_a_first_commit_says_its_steps_where_there_is_no_terminal(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A first commit reads the whole topic: the log names table, step and number of messages meanwhile."""
    deployment = make_deployment()
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(f"[run]\nheartbeat_s = 0.1\n{LIGHT_JVM}")
    columns = {"id": "int", "v": nullable("string")}
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.f": columns})
    topics["f"].send(*(Change("c", {"id": n % 700, "v": "a"}, at=n) for n in range(1200)))
    deployment.onboard()

    process = subprocess.Popen(
        [sys.executable, "-m", "ingest", "run", "--follow"], cwd=deployment.root, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    killer = Timer(240, process.kill)
    killer.start()
    try:
        table = deployment.root / "lake" / "f"
        while process.poll() is None and not list(timeline_of(table).glob("*.commit")):
            time.sleep(0.1)
        os.kill(process.pid, signal.SIGTERM)
        _, err = process.communicate()
    finally:
        killer.cancel()

    events = [json.loads(line) for line in err.splitlines() if line.startswith("{")]
    at_work = [event["tables"] for event in events if event["event"] == "at work"]
    steps = {step.rpartition(", for ")[0] for tables in at_work for step in tables}
    assert "starting Spark" in steps
    assert {step.partition(" (")[0] for step in steps} >= {"f writing 700 rows"}
    assert any(step.startswith("f reading 1,200 o") for step in steps), "offsets, or of as many"
