"""`ingest doctor` finds in a real database what its owner has to know, and nothing once it is mended."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.operations.doctor.finding import Finding
from ingest.operations.doctor.sources import check_sources
from ingest.settings import Secret, Settings, SourceSettings
from tests.live import engine_mariadb, mariadb
from tests.live.database import Database, serve
from tests.live.engine import JARS

pytestmark = [pytest.mark.live, pytest.mark.spark]

SOURCE = """
create schema inv;
create table inv.events (id int, at date, primary key (id, at)) partition by range (at);
create table inv.events_2026 partition of inv.events for values from ('2026-01-01') to ('2027-01-01')
    partition by range (at);
create table inv.events_2026_01 partition of inv.events_2026 for values from ('2026-01-01') to ('2026-02-01');
create table inv."No Key" (a int, b text);
insert into inv."No Key" values (1, 'x');
create type inv.pair as (x int, y int);
create table inv.odd (
    id int primary key, price numeric, doubled numeric generated always as (price * 2) stored, board int[][],
    flat int[], place inv.pair, places inv.pair[]
);
create publication changes for all tables;
"""
MENDED = """
alter publication changes set (publish_via_partition_root = true);
alter table inv."No Key" replica identity full;
alter table inv.odd drop doubled, drop board, drop place, drop places;
"""


@pytest.fixture(scope="module")
def database(binaries: Path) -> Iterator[Database]:
    """Give a database with every trap."""
    with serve(binaries, max_slot_wal_keep_size="1MB") as result:
        result.run(SOURCE)
        yield result


def findings(database: Database, spark: SparkSession, **more: str) -> list[Finding]:
    """Ask the database as `ingest doctor --spark` does."""
    (driver,) = (JARS / "lib").glob("postgresql-*.jar")
    url = f"jdbc:postgresql://127.0.0.1:{database.port}/postgres"
    return ask(spark, SourceSettings(url=url, user=more.get("user", "postgres"), driver=driver))


def ask(spark: SparkSession, source: SourceSettings) -> list[Finding]:
    """Check a source."""
    return list(check_sources(Settings(sources={"shop": source}), spark))


def test_each_trap_is_a_finding_until_it_is_mended(database: Database, outer_spark: SparkSession) -> None:
    """A table without a key is a problem, because PostgreSQL refuses its updates; the others are warnings."""
    with pytest.raises(RuntimeError, match="does not have a replica identity and publishes updates"):
        database.run("update inv.\"No Key\" set b = 'y'")
    answer, *found = findings(database, outer_spark)
    assert (answer.level, answer.text) == ("ok", "shop: PostgreSQL answers")
    assert [(finding.level, finding.text.rpartition(" (")[2]) for finding in found] == [
        ("warning", "inv.events in publication changes)"),
        ("problem", 'inv."No Key")'),
        ("warning", "inv.odd.doubled)"),
        ("warning", "inv.odd.board)"),
        ("warning", "inv.odd.place, inv.odd.places)"),
    ]
    assert all(finding.todo for finding in found)
    database.run(MENDED)
    database.run("update inv.\"No Key\" set b = 'y'")
    assert [finding.level for finding in findings(database, outer_spark)] == ["ok"]


def test_a_slot_that_nothing_reads_is_a_problem_and_worse_once_its_log_is_gone(
    database: Database, outer_spark: SparkSession
) -> None:
    """Every table is up to date with its topic then, and PostgreSQL's disk fills."""
    database.run("select pg_create_logical_replication_slot('shop', 'pgoutput')")
    idle = [finding for finding in findings(database, outer_spark) if finding.level == "problem"]
    assert [finding.text.rpartition(" (")[2].partition(" keeps ")[0] for finding in idle] == ["shop"]
    for _ in range(3):
        database.run("select pg_logical_emit_message(false, 'fill', repeat('x', 1000000)), pg_switch_wal()")
    database.run("checkpoint")
    lost = [finding for finding in findings(database, outer_spark) if finding.level == "problem"]
    assert [finding.text.rpartition(": ")[2] for finding in lost] == [
        "changes are missing in its topics (shop)"
    ]
    database.run("select pg_drop_replication_slot('shop')")


def test_a_database_that_refuses_the_user_is_a_problem(database: Database, outer_spark: SparkSession) -> None:
    """The same error as of `ingest verify`, with its remedy."""
    (problem,) = findings(database, outer_spark, user="nobody_here")
    assert (problem.check, problem.level) == ("source", "problem")
    assert 'role "nobody_here" does not exist' in problem.text


@pytest.mark.usefixtures("mariadb_connector")
def test_a_binlog_that_loses_changes_is_a_problem_until_it_is_mended(outer_spark: SparkSession) -> None:
    """Settings that a server changes while it runs, for all later sessions."""
    secret = Secret(mariadb.PASSWORD)
    with mariadb.serve() as server:
        url = f"jdbc:mariadb://127.0.0.1:{server.port}/"
        source = SourceSettings(url=url, user=mariadb.USER, password=secret, driver=engine_mariadb.driver())
        assert [finding.level for finding in ask(outer_spark, source)] == ["ok"]
        server.run("set global binlog_row_image = 'MINIMAL'; set global binlog_format = 'MIXED'")
        answer, *problems = ask(outer_spark, source)
        assert answer.level == "ok"
        assert [(finding.level, finding.text.rpartition(" (")[2]) for finding in problems] == [
            ("problem", "binlog_format = MIXED)"),
            ("problem", "binlog_row_image = MINIMAL)"),
        ]
