"""A real MariaDB, written to all the time, behind Debezium: each phase ends with two comparisons."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.hudi.table import HudiTable
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


FAULTS = {
    "boolean": "not {c}",
    "string": "concat({c}, ' ')",
    "binary": "concat({c}, X'01')",
    "date": "date_add({c}, 1)",
    "timestamp": "{c} + interval 1 second",
    "timestamp_ntz": "{c} + interval 1 second",
}
"""A fault for each type in the table; one unit more for numbers."""


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

    def plant(self, table: str, change: Callable[[DataFrame], DataFrame]) -> None:
        """Replace the rows of a table in the lake."""
        with self.deployment.session as session:
            (config,) = session.tables([table])
            stored = HudiTable(session.spark, session.settings.lake.table_path(table))
            last = stored.checkpoint()
            assert last is not None
            entry = attrs.evolve(last, run_id=str(uuid.uuid4()), note="a planted fault", counters={})
            rows = change(stored.rows()).localCheckpoint()
            stored.commit(rows, config, ("id",), "overwrite", entry)

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


def test_a_fault_of_each_type_is_found(live: Live) -> None:
    """In row 4, one column at a time would take long: in all columns at once, each counted once."""
    compared = live.endings["incremental"].answers["all_types"].compared

    def change(rows: DataFrame) -> DataFrame:
        for name, spark_type in rows.dtypes:
            if name in compared and name != "id":
                value = FAULTS.get(spark_type.partition("(")[0], "{c} + 1").format(c=f"`{name}`")
                value = f"if(id = 4, cast({value} as {spark_type}), `{name}`)"
                rows = rows.withColumn(name, F.expr(value))
        return rows

    live.plant("all_types", change)
    answer = live.verify("all_types")["all_types"]
    assert answer.error is None
    assert answer.counts == {"different": 1}
    assert dict(answer.columns) == {name: 1 for name in compared if name not in {"bo", "b1"}}


def test_an_interrupted_verification_is_resumed(live: Live) -> None:
    """With the chunks that were finished, and the position of the first attempt."""
    live.database.run("use inv; insert into scratch select seq, 'x' from seq_1001_to_1600")
    wait_until_delivered(live.database, live.servers)
    live.run()

    def interrupt(_: str, step: str) -> None:
        if step.startswith("compared "):
            raise InterruptedError

    with live.deployment.session as session:
        (broken,) = session.verify(["scratch"], Request(), progress=interrupt).tables
    assert broken.error is not None
    resumed = live.verify("scratch", resume=True)["scratch"]
    assert (resumed.outcome, resumed.error) == ("equal", None)
    assert resumed.note.startswith("resumed: ")
    assert "not resumed" in live.verify("scratch", resume=True)["scratch"].note


def test_a_repair_makes_the_table_equal(live: Live) -> None:
    """The connector sends the rows that differ; extra rows go in a commit that says so."""

    def change(rows: DataFrame) -> DataFrame:
        changed = rows.where("id not in (1003, 1004)").withColumn("v", F.expr("if(id = 1007, 'wrong', v)"))
        return changed.unionByName(rows.where("id = 1010").withColumn("id", F.lit(1777)))

    live.plant("scratch", change)
    shown = live.verify("scratch", repair="print")["scratch"]
    assert shown.counts == {"missing": 2, "different": 1, "extra": 1}
    repaired = live.verify("scratch", repair="execute", delete_extra=True, lake_wait_s=60.0)["scratch"]
    assert (repaired.outcome, repaired.deleted, repaired.error) == ("equal", 1, None)
