"""A real MariaDB, written to all the time, behind Debezium: each phase ends with two comparisons."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.errors import SourceRefusedError
from ingest.local.servers import Addresses
from ingest.report.outcome import RunReport
from tests.e2e.deployment import Deployments
from tests.live.engine_mariadb import (
    NOTIFICATIONS,
    PREFIX,
    SIGNALS,
    driver,
    stream,
    wait_until_delivered,
)
from tests.live.mariadb import PASSWORD, USER, MariaDb, serve, serve_replica
from tests.live.scenario_mariadb import COPY_ALL_TYPES, NEW_COLUMNS, TRUNCATE, WIDER
from tests.live.source_mariadb import START, TABLES, read_source
from tests.live.tables import Ending, LiveTables, check_faults, wait_for_snapshot, with_faults
from tests.live.writer import CompiledWriter
from tests.live.writer_mariadb import STATEMENTS

pytestmark = [
    pytest.mark.live,
    pytest.mark.spark,
    pytest.mark.servers,
    pytest.mark.usefixtures("mariadb_connector"),
]

PHASES = ("snapshot", "streaming", "ddl", "incremental")
WAIT_S = 300.0
"""Seconds until a run writes: on a busy machine its JVM starts in a minute."""
FAULTY = Path(__file__).with_name("faults_mariadb.sql")
SOURCE = """
[sources.maria]
url = "jdbc:mariadb://127.0.0.1:{port}/inv"
user = "{user}"
password = "{password}"
driver = "{driver}"
wait_s = {wait_s}
signal_table = "{signals}"
chunk_rows = 100
"""
LAST_DIGIT = "concat(left({c}, length({c}) - 1), '3')"
LAST_OCTET = "concat(substring({c}, 1, length({c}) - 1), X'03')"
FAULTS = {
    **dict.fromkeys(
        ("t1", "ti", "tu", "si", "su", "mi", "mu", "i4", "iu", "iz", "i8", "bu", "ye"), "{c} + 1"
    ),
    "b1": "not {c}",
    "de": "{c} + 0.01",
    "d0": "{c} - 1",
    "d38": "{c} + 0.0000000001",
    "d65": "'0.000000000000000000000000000002'",
    "du": "{c} + 0.001",
    **dict.fromkeys(("b8", "b64", "bi", "vb", "tb", "bl", "lb"), LAST_OCTET),
    "ch": "concat({c}, ' ')",
    "vc": "lower({c})",
    "vl": "upper({c})",
    "tt": "lower({c})",
    "tx": "rtrim({c})",
    "mt": "null",
    "lt": "concat({c}, ' ')",
    "em": "null",
    "nu": "''",
    "da": "date_add({c}, 1)",
    **dict.fromkeys(("t0", "t3", "t6", "uu"), LAST_DIGIT),
    "dt": "{c} + interval 1 millisecond",
    "dt3": "{c} + interval 1 millisecond",
    "dt6": "{c} + interval 1 microsecond",
    "ts": "{c} + interval 1 hour",
    "ts3": "{c} + interval 1 millisecond",
    "ts6": "{c} + interval 1 microsecond",
    "en": "'sad'",
    "js": """'{{"a": 2}}'""",
}
"""A fault for each type, by column: the stored value `{c}`, changed as little as possible."""


@attrs.frozen
class Live(LiveTables):
    """A database, its connector and the tables made of it."""

    database: MariaDb
    servers: Addresses
    endings: dict[str, Ending] = attrs.Factory(dict)
    reports: list[RunReport] = attrs.Factory(list)

    def write_settings(self, **values: Any) -> None:
        """Write the settings, with the source."""
        usual = {
            "port": self.database.port, "user": USER, "password": PASSWORD, "signals": SIGNALS,
            "driver": driver(), "wait_s": 2.0,
        }  # fmt: skip
        self.write_source(SOURCE.format(**usual | values))

    def run(self) -> None:
        """Onboard new topics and run every table."""
        self.deployment.session.onboard([f"*{PREFIX}*"], name="{table}")
        self.reports.append(self.deployment.run())

    def end(self, phase: str) -> None:
        """End a phase: compare every table in both ways."""
        wait_until_delivered(self.database, self.servers)
        self.run()
        self.endings[phase] = self.compare(TABLES, partial(read_source, self.database))


@pytest.fixture(scope="module")
def live(
    deployments: Deployments,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Live]:
    """Go through all phases, writing in each, with a kill of the connector and one of a run."""
    folder = tmp_path_factory.mktemp("maria")
    with serve() as database:
        database.run(START.read_text())
        database.run(FAULTY.read_text())
        result = Live(deployments.recorded(folder, PREFIX), database, deployments.servers)
        result.write_settings()
        with stream(database, deployments.servers, folder) as engine:
            with CompiledWriter(database, 1, STATEMENTS):
                wait_until_delivered(database, deployments.servers)
                result.run()
            result.end("snapshot")
            with CompiledWriter(database, 2, STATEMENTS):
                database.run(COPY_ALL_TYPES)
                engine.kill()
        with stream(database, deployments.servers, folder):
            result.end("streaming")
            with CompiledWriter(database, 3, STATEMENTS):
                database.run(NEW_COLUMNS)
                result.run()
                database.run(WIDER)
                database.run(TRUNCATE)
                wait_until_delivered(database, deployments.servers)
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
    statement = live.signal_snapshot("customers", "order_lines", signals=SIGNALS)
    with live.database.transaction() as opened:
        opened.run("insert into inv.customers (id, first_name) values (95, 'open')")
        opened.run("update inv.order_lines set note = 'open' where order_id = 21")
        live.database.run(statement)
        live.run()
    wait_for_snapshot(live.servers, NOTIFICATIONS)


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
    with CompiledWriter(live.database, 5, STATEMENTS), live.source(wait_s=8.0):
        answers = live.verify_all("customers", "order_lines")
    assert [answer.error for answer in answers.values()] == [None, None]
    assert all(dict(answer.counts) == {} for answer in answers.values())


def test_runs_rejected_nothing(live: Live) -> None:
    """What a report counts adds up, and a truncate was among the events."""
    tallies = [table.to_json() for report in live.reports for table in report.tables]
    assert [tally["error"] for tally in tallies if tally["error"]] == []
    assert {tally["rejected"] for tally in tallies} == {0}
    assert sum(tally["ignored"].get("truncate", 0) for tally in tallies) > 0


def test_a_fault_of_each_type_is_found(live: Live) -> None:
    """The key and the column of each, and nothing else; the doubled, missing and extra rows too."""
    faults = {column: fault.format(c=f"`{column}`") for column, fault in FAULTS.items()}
    live.plant("typed", lambda rows: with_faults(rows, faults))
    check_faults(live.verify("typed", first=100), faults)
    every_type = set(live.endings["incremental"].answers["all_types"].compared)
    assert every_type - set(FAULTS) == {"bo", "chb", "dn", "dtn"}  # as `t1`, `ch`, `da` and `dt`


def test_an_interrupted_verification_is_resumed(live: Live) -> None:
    """With the chunks that were finished, and the position of the first attempt."""
    live.database.run("use inv; insert into scratch select seq, 'x' from seq_1001_to_1600")
    wait_until_delivered(live.database, live.servers)
    live.run()

    def interrupt(_: str, step: str) -> None:
        if step.startswith("compared "):
            raise InterruptedError

    broken = live.verify("scratch", interrupt)
    assert broken.error is not None
    resumed = live.verify("scratch", resume=True)
    assert (resumed.outcome, resumed.error) == ("equal", None)
    assert resumed.note.startswith("resumed: ")
    assert "not resumed" in live.verify("scratch", resume=True).note


def test_a_repair_makes_the_table_equal(live: Live) -> None:
    """The connector sends the rows that differ; extra rows go in a commit that says so."""

    def change(rows: DataFrame) -> DataFrame:
        changed = rows.where("id not in (1003, 1004)").withColumn("v", F.expr("if(id = 1007, 'wrong', v)"))
        return changed.unionByName(rows.where("id = 1010").withColumn("id", F.lit(1777)))

    live.plant("scratch", change)
    shown = live.verify("scratch", repair="print")
    assert shown.counts == {"missing": 2, "different": 1, "extra": 1}
    repaired = live.verify("scratch", repair="execute", delete_extra=True, lake_wait_s=60.0)
    assert (repaired.outcome, repaired.deleted, repaired.error) == ("equal", 1, None)


def test_a_replica_that_lags_is_refused(live: Live) -> None:
    """Its rows may be older than the table's; as it is, it is compared on request, and the answer says so."""
    with serve_replica(live.database, delay_s=3600) as replica:
        live.database.run("insert into inv.scratch values (2001, 'not in the replica')")
        wait_until_delivered(live.database, live.servers)
        live.run()
        with live.source(port=replica.port):
            answer = live.verify("scratch")
            as_is = live.verify("scratch", following="as-is")
    assert isinstance(answer.error, SourceRefusedError)
    assert "is a replica, which may lag" in str(answer.error)
    assert answer.counts == {}
    assert as_is.counts == {"extra": 1}
    assert "replica" in as_is.note
