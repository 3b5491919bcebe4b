"""Metrics of real runs: of tables that progress, fail, lag, or have open rejects."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from ingest.api.session import Session
from ingest.operations.status.health import health, parse_bound
from ingest.report.outcome import RunReport
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
TABLES = ("bounded", "broken", "still")


def test_metrics_show_the_lag_of_each_table(make_deployment: Callable[[], Deployment]) -> None:
    """Lag and last commit of a table that lags, one that fails, and one that is idle."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.{n}": COLUMNS for n in TABLES})
    deployment.onboard()
    broken = deployment.tables / "broken.toml"
    broken.write_text(broken.read_text().replace("max_share = 0.01", "max_share = 0.5"))
    sent = {}
    for name, topic in topics.items():
        messages = topic.records([Change("c", {"id": n, "v": "a" * 50}, at=n) for n in range(4)])
        messages += [(None, b"\7")] * (name == "broken")
        topic.produce(messages)
        sent[name] = sum(len(key or b"") + len(value or b"") for key, value in messages)
    group = f"{deployment.prefix}-lag"
    overrides = {"run.metrics": f"{deployment.root}/metrics/", "kafka.group": group}
    before = datetime.now(UTC)

    with Session.open(
        deployment.root / "ingest.toml", spark=deployment.spark, overrides=overrides
    ) as session:
        first = session.run()
        topics["bounded"].send(*(Change("u", {"id": n, "v": "b"}, at=10 + n) for n in range(4)))
        broken.write_text(broken.read_text().replace("max_rows = 10000", "max_rows = 0"))
        topics["broken"].produce([(None, b"\7")])
        second = session.run(max_offsets=3)
        status = {entry.table: entry for entry in session.status()}

    assert offsets_of(group, topics.values()) == [7, 5, 4], "where each table's last commit ends"
    began = check_all_committed(first, sent, before)
    check_steps(first)
    went_on = metrics_of(second)
    outcomes = {entry.table: entry.outcome for entry in second.tables}
    assert outcomes == {"bounded": "committed", "broken": "failed", "still": "idle"}
    lags = {name: entry["lag_offsets"] for name, entry in went_on.items()}
    assert lags == {"bounded": 1, "broken": 1, "still": 0}
    assert 0 < went_on["bounded"]["lag_seconds"] < 3_600  # the unread message is new, its change of 2023
    assert 0 < went_on["broken"]["lag_seconds"] < 3_600
    assert went_on["still"]["lag_seconds"] == 0
    assert went_on["bounded"]["last_commit_at"] != began["bounded"]["last_commit_at"]
    for name in ("broken", "still"):  # shows when each last progressed
        assert went_on[name]["last_commit_at"] == began[name]["last_commit_at"]
        assert went_on[name]["commit_seconds"] is None
    assert went_on["broken"]["open_rejects"] == 1

    words = {name: health(entry, parse_bound("0")).state for name, entry in status.items()}
    assert words == {"bounded": "behind", "broken": "failing", "still": "ok"}
    assert health(status["broken"], parse_bound("1")).state == "failing"
    assert status["still"].to_json()["committed_at"] == went_on["still"]["last_commit_at"]


def check_all_committed(first: RunReport, sent: dict[str, int], before: datetime) -> dict[str, Any]:
    """Check that every table reached its topic's end; return the metrics by table."""
    assert [str(entry.error) for entry in first.tables if entry.error] == []
    began = metrics_of(first)
    assert {name: entry["read_bytes"] for name, entry in began.items()} == sent
    rejects = {name: entry["open_rejects"] for name, entry in began.items()}
    assert rejects == {"bounded": 0, "broken": 1, "still": 0}
    assert all(entry["lag_offsets"] == 0 for entry in began.values())
    assert all(entry["commit_seconds"] > 0 for entry in began.values())
    moment = timedelta(milliseconds=1)
    for entry in began.values():
        assert before - moment <= datetime.fromisoformat(entry["last_commit_at"]) <= datetime.now(UTC)
    return began


def check_steps(report: RunReport) -> None:
    """Check that each step of a run and of its tables took time, and together no more than the whole."""
    content = report.to_json()
    took = (report.finished_at - report.started_at).total_seconds()
    for entry, seconds in ((content, took), *((table, table["seconds"]) for table in content["tables"])):
        steps = entry["step_seconds"]
        assert min(steps["plan"], steps["read"], steps["write"]) > 0
        assert sum(steps.values()) <= seconds + 0.01


def offsets_of(group: str, topics: Iterable[Topic]) -> list[int]:
    """Return the offsets of first partitions that a lag tool sees."""
    (servers, *_) = {topic.servers.addresses.bootstrap_servers for topic in topics}
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
    partitions = consumer.committed([TopicPartition(topic.name, 0) for topic in topics], timeout=10)
    consumer.close()
    return [partition.offset for partition in partitions]


def metrics_of(report: RunReport) -> dict[str, Any]:
    """Return the report's metrics by table."""
    tables: Sequence[dict[str, Any]] = report.to_json()["tables"]
    return {table["table"]: table["metrics"] for table in tables}
