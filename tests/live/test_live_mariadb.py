"""A real MariaDB, written to all the time, behind Debezium: each phase ends with two comparisons."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from ingest.run.report import RunReport
from ingest.verify.result import TableVerification
from ingest.verify.task import Request
from tests.e2e.deployment import Deployment
from tests.e2e.referee import differences, read_table
from tests.live.engine_mariadb import (
    NOTIFICATIONS,
    PREFIX,
    SIGNALS,
    driver,
    read_values,
    stream,
    wait_until_delivered,
)
from tests.live.mariadb import PASSWORD, USER, MariaDb, serve
from tests.live.scenario_mariadb import COPY_ALL_TYPES, NEW_COLUMNS, TRUNCATE, WIDER
from tests.live.source_mariadb import START, TABLES, read_source
from tests.live.writer import CompiledWriter
from tests.live.writer_mariadb import STATEMENTS

pytestmark = [
    pytest.mark.live,
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.usefixtures("mariadb_connector"),
]

PHASES = ("snapshot", "streaming", "ddl", "incremental")
WAIT_S = 60.0
SOURCE = """
[sources.maria]
url = "jdbc:mariadb://127.0.0.1:{port}/inv"
user = "{user}"
password = "{password}"
driver = "{driver}"
wait_s = 2.0
signal_table = "{signals}"
chunk_rows = 100
"""


@attrs.frozen
class Ending:
    """The end of a phase: by table, the test's own comparison and that of `ingest verify`."""

    differences: dict[str, list[str]]
    answers: dict[str, TableVerification]


@attrs.frozen
class Live:
    """A database, its connector and the tables made of it."""

    database: MariaDb
    servers: Addresses
    deployment: Deployment
    endings: dict[str, Ending] = attrs.Factory(dict)
    reports: list[RunReport] = attrs.Factory(list)

    def write_settings(self) -> None:
        """Add the source to the settings."""
        values = {"port": self.database.port, "user": USER, "password": PASSWORD, "signals": SIGNALS}
        with (self.deployment.root / "ingest.toml").open("a") as file:
            file.write(SOURCE.format(driver=driver(), **values))

    def run(self) -> None:
        """Onboard new topics and run every table."""
        self.deployment.session.onboard([f"*{PREFIX}*"], name="{table}")
        self.reports.append(self.deployment.run())

    def verify(self, *tables: str, **request: Any) -> dict[str, TableVerification]:
        """Verify tables, all by default."""
        with self.deployment.session as session:
            return {answer.table: answer for answer in session.verify(tables, Request(**request)).tables}

    def end(self, phase: str) -> None:
        """End a phase: compare every table in both ways."""
        wait_until_delivered(self.database, self.servers)
        self.run()
        wrong = {table: self._differences(table) for table in TABLES if self._has(table)}
        self.endings[phase] = Ending(wrong, self.verify())

    def _has(self, table: str) -> bool:
        return (self.deployment.tables / f"{table}.toml").exists()

    def _differences(self, table: str) -> list[str]:
        expected = read_source(self.database, table)
        return differences(
            expected.rows, read_table(self.deployment.frame(table), expected.keys, expected.kinds)
        )


@pytest.fixture(scope="module")
def live(
    servers: Addresses,
    outer_spark: SparkSession,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Live]:
    """Go through all phases, writing in each, with a kill of the connector and one of a run."""
    folder = tmp_path_factory.mktemp("maria")
    with serve() as database:
        database.run(START.read_text())
        result = Live(database, servers, Deployment(folder, servers, outer_spark, PREFIX))
        result.write_settings()
        with stream(database, servers, folder) as engine:
            with CompiledWriter(database, 1, STATEMENTS):
                wait_until_delivered(database, servers)
                result.run()
            result.end("snapshot")
            with CompiledWriter(database, 2, STATEMENTS):
                database.run(COPY_ALL_TYPES)
                engine.kill()
        with stream(database, servers, folder):
            result.end("streaming")
            with CompiledWriter(database, 3, STATEMENTS):
                database.run(NEW_COLUMNS)
                result.run()
                database.run(WIDER)
                database.run(TRUNCATE)
                wait_until_delivered(database, servers)
                kill_run(result)
            result.end("ddl")
            with CompiledWriter(database, 4, STATEMENTS):
                take_snapshot(result)
            result.end("incremental")
            yield result


def kill_run(live: Live) -> None:
    """Start a run as a process of its own, and kill it while it writes."""
    timeline = live.deployment.root / "lake" / "customers" / ".hoodie"
    before = set(timeline.rglob("*.inflight"))
    command = [sys.executable, "-m", "ingest", "run", "--settings", str(live.deployment.root / "ingest.toml")]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        end = time.monotonic() + WAIT_S
        while not set(timeline.rglob("*.inflight")) - before:
            assert process.poll() is None, "the run ended before it was killed"
            assert time.monotonic() < end, "the run did not write"
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)


def take_snapshot(live: Live) -> None:
    """Signal an incremental snapshot as a person would, while a transaction is open, and await its end."""
    words = ["signal", "execute-snapshot", "customers", "order_lines", "--signal-table", SIGNALS]
    command = [
        sys.executable,
        "-m",
        "ingest",
        *words,
        "--settings",
        str(live.deployment.root / "ingest.toml"),
    ]
    statement = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    with live.database.transaction() as opened:
        opened.run("insert into inv.customers (id, first_name) values (95, 'open')")
        opened.run("update inv.order_lines set note = 'open' where order_id = 21")
        live.database.run(statement)
        live.run()
    end = time.monotonic() + WAIT_S
    while not any(map(_ends_snapshot, read_values(live.servers, NOTIFICATIONS))):
        assert time.monotonic() < end, "the incremental snapshot did not end"


def _ends_snapshot(notification: bytes) -> bool:
    """Tell by the strings inside the Avro."""
    return b"Incremental Snapshot" in notification and b"\x12COMPLETED" in notification


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("phase", PHASES)
def test_table_equals_the_database(phase: str, table: str, live: Live) -> None:
    """Every cell is the database's own, by the test's comparison and by that of `ingest verify`."""
    ending = live.endings[phase]
    if table == "late" and phase in PHASES[:2]:
        assert table not in ending.answers
        return
    answer = ending.answers[table]
    assert ending.differences[table] == []
    assert (answer.error, dict(answer.columns), answer.outcome) == (None, {}, "equal")
    assert answer.source_rows == answer.table_rows


def test_uncompared_columns_are_named(live: Live) -> None:
    """Each with a reason; all others are compared."""
    answer = live.endings["incremental"].answers["all_types"]
    assert set(answer.uncompared) == {"fl", "f5", "db", "se", "po"}


def test_no_row_is_accused_while_it_is_written(live: Live) -> None:
    """Writing goes on all the time, and the answer comes to an end."""
    with CompiledWriter(live.database, 5, STATEMENTS):
        answers = live.verify("customers", "order_lines")
    assert [answer.error for answer in answers.values()] == [None, None]
    assert all(dict(answer.counts) == {} for answer in answers.values())


def test_runs_rejected_nothing(live: Live) -> None:
    """What a report counts adds up, and a truncate was among the events."""
    tallies = [table.to_json() for report in live.reports for table in report.tables]
    assert [tally["error"] for tally in tallies if tally["error"]] == []
    assert {tally["rejected"] for tally in tallies} == {0}
    assert sum(tally["ignored"].get("truncate", 0) for tally in tallies) > 0
