"""A real PostgreSQL, written to all the time, behind Debezium: the tables equal it when the writing ends.

Each phase also ends with `ingest verify`, while the writing goes on.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import attrs
import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from ingest.run.report import RunReport
from ingest.verify.result import TableVerification
from tests.e2e.deployment import Deployment
from tests.e2e.referee import differences, read_table
from tests.live.database import Database, serve
from tests.live.engine import PREFIX, SIGNALS, stream, wait_until_delivered
from tests.live.source import START, TABLES, read_source
from tests.live.verified import LOST_BY_DEBEZIUM, Live
from tests.live.writer import CompiledWriter

pytestmark = [pytest.mark.live, pytest.mark.spark, pytest.mark.servers]

SEED = 4
WRITTEN = ("customers", "docs")
"""Tables to verify while they are written to, which takes most of the looks that there are."""
SNAPSHOT_WAIT_S = 60.0
# Every kind of value once more, streamed this time.
COPY_ALL_TYPES = """
begin; create temp table copied on commit drop as table inv.all_types; update copied set id = id + 10;
insert into inv.all_types table copied; commit;
update inv.all_types set id = id + 10, i4 = 7 where id > 12; delete from inv.all_types where id = 11;
"""
NEW_COLUMNS = """
alter table inv.customers add column loyalty numeric(8,3);
alter table inv.order_lines add column channel varchar(10) default 'web';
insert into inv.order_lines select 21, i, 'sku' from generate_series(1, 5) i;
update inv.customers set loyalty = id / 8.0 where id % 3 = 0;
create table inv.late (id int primary key, v text);
insert into inv.late values (1, 'one'), (2, 'two');
"""
WIDER = """
alter table inv.customers alter age type bigint;
alter table inv.widepk alter id type bigint;
update inv.customers set age = 9223372036854775807 where id % 5 = 0;
insert into inv.widepk values (9223372036854775807, 'wide') on conflict do nothing;
update inv.widepk set v = 'after' where id < 10;
"""
TRUNCATE = """
begin; truncate inv.scratch; insert into inv.scratch values (1, 'same'), (50, 'new'); commit;
"""


@attrs.frozen
class Pipeline:
    """What is left when the writing has ended and everything is read."""

    database: Database
    deployment: Deployment
    onboarded: frozenset[str]
    reports: tuple[RunReport, ...]
    notifications: tuple[bytes, ...]
    phases: Mapping[str, Mapping[str, TableVerification]]
    """The answers of `ingest verify` by table, at the end of each phase."""


@pytest.fixture(scope="module")
def pipeline(
    binaries: Path,
    servers: Addresses,
    outer_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pipeline]:
    """Run the whole pipeline, writes going on from before the first snapshot to the last run but a few."""
    folder = tmp_path_factory.mktemp("live")
    deployment = Deployment(folder, servers, outer_spark, PREFIX)
    with serve(binaries) as database:
        database.run(START.read_text())
        phases: dict[str, dict[str, TableVerification]] = {}
        with CompiledWriter(database, SEED) as writer:
            with stream(database, servers, folder) as engine:
                live = Live(database, deployment, engine)
                live.write_settings()
                reports = [_snapshot(live)]
                phases["snapshot"] = live.verify_all(*WRITTEN)
                reports.append(_change_tables(live))
                phases["new columns"] = live.verify_all(*WRITTEN)
                engine.kill()
                phases["kill"] = live.verify_all(*WRITTEN)
            with stream(database, servers, folder) as engine:
                live = Live(database, deployment, engine)
                reports += _snapshot_again(live)
                _wait_for_snapshot(servers)
                phases["snapshot again"] = live.verify_all(*WRITTEN)
                writer.leave()
                wait_until_delivered(database)
                reports += deployment.run_until_idle()
                phases["end"] = live.verify_all()
        onboarded = frozenset(table.name for table in deployment.session.tables())
        yield Pipeline(database, deployment, onboarded, tuple(reports), _notifications(servers), phases)


def _snapshot(live: Live) -> RunReport:
    """Read the snapshot."""
    wait_until_delivered(live.database)
    _onboard(live.deployment)
    return live.deployment.run()


def _change_tables(live: Live) -> RunReport:
    """Read every kind of value as a change, new columns and a new table."""
    live.database.run(COPY_ALL_TYPES)
    live.database.run(NEW_COLUMNS)
    wait_until_delivered(live.database)
    _onboard(live.deployment)
    return live.deployment.run()


def _snapshot_again(live: Live) -> list[RunReport]:
    """Read an incremental snapshot, wider types and truncates."""
    reports, database, deployment = [], live.database, live.deployment
    with database.transaction() as opened:  # open across the snapshot, which reads rows that it changes
        opened.run("insert into inv.customers (id, first_name) values (95, 'open')")
        opened.run("update inv.order_lines set note = 'open' where order_id = 21")
        database.run(_signal(deployment))
        reports.append(deployment.run())
    for change in (WIDER, TRUNCATE, TRUNCATE):
        database.run(change)
        reports.append(deployment.run())
    return reports


def _onboard(deployment: Deployment) -> None:
    deployment.session.onboard([f"*{PREFIX}*"], name="{table}")


def _signal(deployment: Deployment) -> str:
    """Return the statement that a person would run in the source."""
    words = ["signal", "execute-snapshot", "customers", "order_lines", "--signal-table", SIGNALS]
    settings = ["--settings", str(deployment.root / "ingest.toml")]
    command = [sys.executable, "-m", "ingest", *words, *settings]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _wait_for_snapshot(servers: Addresses) -> None:
    end = time.monotonic() + SNAPSHOT_WAIT_S
    while not any(map(_ends_snapshot, _notifications(servers))):
        assert time.monotonic() < end, "the incremental snapshot did not end"


def _ends_snapshot(notification: bytes) -> bool:
    """Tell by the strings inside the Avro."""
    return b"Incremental Snapshot" in notification and b"\x12COMPLETED" in notification


def _notifications(servers: Addresses) -> tuple[bytes, ...]:
    topic = f"{PREFIX}.notifications"
    consumer = Consumer({"bootstrap.servers": servers.bootstrap_servers, "group.id": "live"})
    try:
        partitions = consumer.list_topics(topic).topics[topic].partitions
        consumer.assign([TopicPartition(topic, partition, 0) for partition in partitions])
        messages = consumer.consume(10_000, timeout=1)
        return tuple(message.value() or b"" for message in messages)
    finally:
        consumer.close()


@pytest.mark.parametrize("table", TABLES)
def test_table_equals_the_database(table: str, pipeline: Pipeline) -> None:
    """Every cell is the database's own."""
    expected = read_source(pipeline.database, table)
    result = read_table(pipeline.deployment.frame(table), expected.keys, expected.kinds)
    assert expected.rows
    assert differences(expected.rows, result) == []


@pytest.mark.parametrize("table", TABLES)
def test_verify_agrees_with_the_comparison(table: str, pipeline: Pipeline) -> None:
    """When the writing has ended, only Debezium's own losses differ."""
    answer = pipeline.phases["end"][table]
    assert answer.error is None
    assert set(answer.columns) == set(LOST_BY_DEBEZIUM.get(table, ()))
    assert set(answer.counts) <= {"different"}
    assert answer.source_rows == answer.table_rows == len(read_source(pipeline.database, table).rows)
    assert answer.in_flight == 0


@pytest.mark.parametrize("phase", ["snapshot", "new columns", "kill", "snapshot again"])
def test_verify_accuses_nothing_during_a_phase(phase: str, pipeline: Pipeline) -> None:
    """Writing goes on, a connector is dead: each table gets an answer, and no row is accused."""
    answers = pipeline.phases[phase]
    assert set(answers) == set(WRITTEN)
    assert [answer.error for answer in answers.values() if answer.error] == []
    assert {name: answer.counts for name, answer in answers.items()} == {name: {} for name in WRITTEN}


def test_only_tables_are_onboarded(pipeline: Pipeline) -> None:
    """Signals, heartbeats, transactions and notifications are none, though the glob is as wide as it gets."""
    assert pipeline.onboarded == set(TABLES)


def test_every_run_read_something_and_rejected_nothing(pipeline: Pipeline) -> None:
    """Writing went on all the time, and what a report counts adds up."""
    tallies = [table.to_json() for report in pipeline.reports for table in report.tables]
    assert [tally["error"] for tally in tallies if tally["error"]] == []
    assert {tally["rejected"] for tally in tallies} == {0}
    assert all(
        any(table.outcome == "committed" for table in report.tables) for report in pipeline.reports[:-1]
    )


def test_the_stream_has_the_expected_events(pipeline: Pipeline) -> None:
    """Tombstones, truncates and an incremental snapshot came through: without them the rest says little."""
    ignored = [table.to_json()["ignored"] for report in pipeline.reports for table in report.tables]
    assert sum(item.get("tombstone", 0) for item in ignored) > 0
    assert sum(item.get("truncate", 0) for item in ignored) > 0
    assert any(map(_ends_snapshot, pipeline.notifications))
