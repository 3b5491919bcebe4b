"""`--follow`: a table with a backlog holds up no other table, and its rows are right all the same."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from typing import get_args

import attrs
import pytest
from pyspark import SparkContext
from structlog.testing import capture_logs

from ingest.errors import StoppedError
from ingest.report.contract import Outcome
from ingest.report.outcome import RunReport
from ingest.run import follow
from ingest.run.work import by_files, fleet
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM, Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.test_fleet import hanging
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
BACKLOG = 2
LARGE = ("big", "huge")


@attrs.define
class Gate:
    """A progress listener that holds a table up in its first step of a kind, or until its test ends."""

    table: str
    step: str
    reached: threading.Event = attrs.Factory(threading.Event)
    opened: threading.Event = attrs.Factory(threading.Event)

    def __call__(self, table: str, step: str) -> None:
        """Wait for the gate, at its table and step.  Later rounds show the step again."""
        if table == self.table and step.startswith(self.step) and not self.reached.is_set():
            self.reached.set()
            assert self.opened.wait(PATIENCE_S)

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Open the gate."""
        self.opened.set()


def make_tables(deployment: Deployment) -> dict[str, Topic]:
    """Make two tables with a backlog and a small one; one table is at work beside the rounds at a time."""
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write("[run]\nparallel_tables = 1\n")
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in (*LARGE, "small")}
    topics = make_topics(deployment.servers, names)
    for name in LARGE:
        topics[name].send(*(Change("c", {"id": n, "v": name}, at=n) for n in range(BACKLOG + 3)))
    topics["small"].send(Change("c", {"id": 0, "v": "a"}, at=0))
    deployment.onboard()
    return topics


def outcomes(report: RunReport) -> dict[str, str]:
    """Return the outcome of each table."""
    return {table.table: table.outcome for table in report.tables}


def until(rounds: Generator[RunReport, None, None], table: str, outcome: str = "") -> RunReport:
    """Return the first report with a table, and an outcome if one is asked for."""
    wanted = {outcome} if outcome else get_args(Outcome)
    return next(report for report in rounds if outcomes(report).get(table) in wanted)


def test_a_backlog_holds_up_no_other_table(
    make_deployment: Callable[[], Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounds pass while the table is at work, then the next one with a backlog has its turn."""
    monkeypatch.setattr(follow, "BACKLOG", BACKLOG)
    deployment = make_deployment()
    topics, gate = make_tables(deployment), Gate("big", "reading")

    with deployment.session as session, gate:
        rounds = session.follow(interval_s=0.1, progress=gate)
        assert outcomes(next(rounds)) == {"small": "committed"}
        assert gate.reached.wait(PATIENCE_S)
        topics["small"].send(Change("u", {"id": 0, "v": "b"}, at=9))
        assert outcomes(next(rounds)) == {"small": "committed"}
        assert outcomes(next(rounds)) == {"small": "idle"}
        gate.opened.set()
        assert outcomes(until(rounds, "big"))["big"] == "committed"
        assert outcomes(until(rounds, "huge"))["huge"] == "committed"
        topics["big"].send(Change("d", {"id": 0, "v": "big"}, at=99))
        while outcomes(next(rounds)).get("big") != "committed":
            pass
        rounds.close()
        kept = [table.table for report in session.runs() for table in report.tables if table.instant]

    assert sorted(kept) == ["big", "big", "huge", "small", "small"]
    assert [row["v"] for row in deployment.frame("small").collect()] == ["b"]
    assert {row["id"] for row in deployment.frame("big").collect()} == {1, 2, 3, 4}
    assert deployment.frame("huge").count() == BACKLOG + 3


def test_a_storage_that_hangs_holds_up_no_other_table(
    make_deployment: Callable[[], Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor a table with a backlog.  The table is at work beside the rounds until its storage answers."""
    monkeypatch.setattr(follow, "BACKLOG", BACKLOG + 3)
    monkeypatch.setattr(by_files, "PATIENCE_S", 1.0)
    tags, add_tag = list[str](), SparkContext.addJobTag

    def noted(context: SparkContext, tag: str) -> None:
        tags.append(tag)
        add_tag(context, tag)

    monkeypatch.setattr(SparkContext, "addJobTag", noted)
    deployment = make_deployment()
    topics = make_tables(deployment)
    settings = deployment.root / "ingest.toml"
    settings.write_text(settings.read_text().replace("parallel_tables = 1", "parallel_tables = 2"))
    assert deployment.run().exit_code == 0

    with deployment.session as session:
        rounds = session.follow(interval_s=0.1)
        with hanging(deployment.root / "lake" / "big"):
            topics["small"].send(Change("u", {"id": 0, "v": "b"}, at=9))
            with capture_logs() as logged:
                assert outcomes(next(rounds)) == {"huge": "idle", "small": "committed"}
            warned = [entry["table"] for entry in logged if entry["event"] == "storage does not answer"]
            assert warned == ["big"]
            topics["huge"].send(*(Change("d", {"id": n, "v": "huge"}, at=10 + n) for n in range(BACKLOG + 3)))
            report = until(rounds, "huge", "committed")
            assert outcomes(report) == {"huge": "committed", "small": "idle"}
        until(rounds, "big")
        topics["big"].send(Change("u", {"id": 0, "v": "b"}, at=99))
        until(rounds, "big", "committed")
        rounds.close()

    assert len(set(tags)) == len(tags)  # by its tag a table's jobs are cancelled
    assert deployment.frame("huge").count() == 0
    assert deployment.frame("big").count() == BACKLOG + 3


@pytest.mark.parametrize("moment", ["in a round", "between rounds", "by its caller"])
def test_a_stop_ends_a_table_beside_the_rounds(
    make_deployment: Callable[[], Deployment], monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    """It commits nothing, the report says so, and the next run reads its messages again."""
    monkeypatch.setattr(follow, "BACKLOG", BACKLOG)
    deployment = make_deployment()
    topics, gate = make_tables(deployment), Gate("big", "reading")
    stops = threading.Event()

    def stop() -> None:
        threading.Timer(1.0, gate.opened.set).start()
        os.kill(os.getpid(), signal.SIGTERM)

    def progress(table: str, step: str) -> None:
        gate(table, step)
        if table == "small" and step.startswith("reading") and stops.is_set():
            stop()
            time.sleep(0.5)

    with deployment.session as session, gate:
        rounds = session.follow(interval_s=0.1, progress=progress)
        assert outcomes(next(rounds)) == {"small": "committed"}
        assert gate.reached.wait(PATIENCE_S)
        if moment == "by its caller":
            threading.Timer(1.0, gate.opened.set).start()
            rounds.close()
        elif moment == "between rounds":
            stop()
            (last,) = rounds
            assert [(table.table, type(table.error)) for table in last.tables] == [("big", StoppedError)]
        else:
            topics["small"].send(Change("u", {"id": 0, "v": "b"}, at=9))
            stops.set()
            *_, last = rounds
            errors = {table.table: type(table.error) for table in last.tables}
            assert errors == dict.fromkeys(("big", "huge", "small"), StoppedError)
            assert last.exit_code == 75

    assert not (deployment.root / "lake" / "big").exists()
    assert deployment.run().exit_code == 0
    assert deployment.frame("big").count() == BACKLOG + 3


def fail(*_: object) -> None:
    """Fail as no table does."""
    raise RuntimeError("no table expects this")


def test_an_error_that_no_table_expects_is_reported(
    make_deployment: Callable[[], Deployment], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table beside the rounds is never lost from the reports."""
    monkeypatch.setattr(follow, "BACKLOG", BACKLOG)
    monkeypatch.setattr(fleet.Fleet, "_shift", fail)
    deployment = make_deployment()
    make_tables(deployment)

    with deployment.session as session:
        rounds = session.follow(list(LARGE), interval_s=0.1)
        (error,) = (str(table.error) for table in until(rounds, "big").tables if table.table == "big")
        rounds.close()

    assert "no table expects this" in error


FOLLOW = f"""
import os, signal
from pyspark import SparkContext
from ingest import Session
from ingest.run import follow

follow.BACKLOG, left, killed = {BACKLOG}, {set(LARGE)!r}, []

def kill_once(table, step):
    if table == "big" and step.startswith("reading") and not killed:
        killed.append(table)
        os.kill(SparkContext._gateway.proc.pid, signal.SIGKILL)

with Session.open("ingest.toml") as session:
    for report in session.follow(interval_s=0.2, progress=kill_once):
        for table in report.tables:
            print(table.table, table.outcome, table.error, flush=True)
        left -= {{table.table for table in report.tables if table.outcome == "committed"}}
        if not left:
            break
"""


def test_a_jvm_that_ends_beside_the_rounds_is_replaced(make_deployment: Callable[[], Deployment]) -> None:
    """The table is reported, and later rounds work on it in another JVM."""
    deployment = make_deployment()
    make_tables(deployment)
    with (deployment.root / "ingest.toml").open("a") as settings:
        settings.write(f"[spark]\nclass_archive = false\n{LIGHT_JVM}")

    done = subprocess.run(
        [sys.executable, "-c", FOLLOW], cwd=deployment.root, timeout=PATIENCE_S,
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    lines = [line.split(maxsplit=2) for line in done.stdout.splitlines()]
    assert lines[0][0] == "small", done.stdout
    assert any(table == "big" and "JVM" in error for table, _, error in lines), done.stdout
    for name in LARGE:
        assert deployment.frame(name).count() == BACKLOG + 3
