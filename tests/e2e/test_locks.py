"""Concurrent and stopped runs of one table: exactly one commits, and nothing remains."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest import Session
from ingest.api.session import silent
from ingest.errors import TableLockedError, TableTimeoutError
from ingest.local.process import group_lives
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from ingest.operations.maintain import Maintenance
    from ingest.report.outcome import RunReport

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
LIMIT_S = 4.0
"""A time in which a busy machine begins to read a table."""


def opened(deployment: Deployment, **run: float) -> Session:
    """Open the deployment with other `[run]` settings."""
    overrides = {f"run.{key}": value for key, value in run.items()}
    return Session.open(deployment.root / "ingest.toml", overrides=overrides, spark=deployment.spark)


def test_of_two_writers_one_commits_and_the_other_names_it(make_deployment: Callable[[], Deployment]) -> None:
    """For run, offsets set and purge.  A writer that waits long enough finds nothing to do."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    refused: list[RunReport] = []
    waited: list[RunReport] = []
    waiter = threading.Thread(target=lambda: waited.append(opened(deployment, lock_wait_s=60).run()))

    def meanwhile(_: str, step: str) -> None:
        if step.startswith("writing"):
            with opened(deployment, lock_wait_s=0) as other:
                refused.append(other.run())
                for write in (lambda: other.move_offsets("t", "earliest"), lambda: other.purge("t")):
                    with pytest.raises(TableLockedError, match="run "):
                        write()
            waiter.start()
            time.sleep(0.5)

    report = opened(deployment).run(progress=meanwhile)

    assert [outcome.outcome for outcome in report.tables] == ["committed"], report.tables[0].error
    waiter.join()
    (loser,) = refused[0].tables
    assert isinstance(loser.error, TableLockedError), loser.error
    assert f"run {report.run_id}, process {os.getpid()} on " in str(loser.error)
    assert (loser.outcome, refused[0].exit_code) == ("temporary", 75)
    assert [outcome.outcome for outcome in waited[0].tables] == ["idle"]
    assert deployment.frame("t").count() == 1


def test_a_run_and_maintenance_exclude_each_other(make_deployment: Callable[[], Deployment]) -> None:
    """The second is refused with the name of the first, exit code 75; the next try succeeds."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    refused: list[RunReport | Maintenance] = []

    def run_meanwhile(_: str, step: str) -> None:
        if step == "maintaining":
            refused.append(opened(deployment, lock_wait_s=0).run())

    def maintain_meanwhile(_: str, step: str) -> None:
        if step.startswith("writing"):
            refused.append(opened(deployment, lock_wait_s=0).maintain())

    runs = []
    for value, progress in {"a": silent, "b": maintain_meanwhile}.items():
        topics["t"].send(Change("u", {"id": 1, "v": value}, at=len(runs)))
        runs.append(opened(deployment).run(progress=progress))
    topics["t"].send(Change("u", {"id": 1, "v": "c"}, at=len(runs)))
    maintenance = opened(deployment).maintain(progress=run_meanwhile)
    runs.append(opened(deployment).run())

    for report, holder in zip(refused, (runs[1], maintenance), strict=True):
        (loser,) = report.tables
        assert isinstance(loser.error, TableLockedError), loser.error
        assert f"run {holder.run_id}, " in str(loser.error)
        assert report.exit_code == 75
    assert {report.exit_code for report in (*runs, maintenance)} == {0}
    assert [row["v"] for row in deployment.frame("t").collect()] == ["c"]


def test_a_run_without_lock_or_time_commits_nothing(
    make_deployment: Callable[[], Deployment],
) -> None:
    """A removed lock file, a timeout or Ctrl-C prevents the commit, and the lock is free again."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})
    deployment.onboard()
    topics["t"].send(Change("c", {"id": 1, "v": "a"}, at=1))
    lock = deployment.root / "lake" / "_locks" / "t" / "lock"

    def lose(_: str, step: str) -> None:
        if step.startswith("writing"):
            lock.unlink()

    def dawdle(_: str, step: str) -> None:
        if step.startswith("reading"):
            time.sleep(LIMIT_S)

    def interrupt(_: str, step: str) -> None:
        if step.startswith("reading"):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.5)

    (lost,) = opened(deployment).run(progress=lose).tables
    late = opened(deployment, table_timeout_s=LIMIT_S).run(progress=dawdle)
    with pytest.raises(KeyboardInterrupt):
        opened(deployment).run(progress=interrupt)

    assert isinstance(lost.error, TableLockedError), lost.error
    assert isinstance(late.tables[0].error, TableTimeoutError), late.tables[0].error
    assert "while reading 1 offsets" in str(late.tables[0].error)
    assert late.exit_code == 75
    assert not (deployment.root / "lake" / "t").exists()
    assert lock.read_text() == ""


def test_sigterm_stops_a_run_cleanly(make_deployment: Callable[[], Deployment], tmp_path: Path) -> None:
    """Sent to all its processes, as schedulers do: exit code 75, a report, no process and no lock remain."""
    deployment = make_deployment()
    names = ("t0", "t1")
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.{n}": COLUMNS for n in names})
    deployment.onboard()
    for topic in topics.values():
        topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    environment = {**os.environ, "INGEST_RUN_PARALLEL_TABLES": "1"}
    command = [sys.executable, "-m", "ingest", "run", "--report", str(tmp_path / "report.json")]
    lock = deployment.root / "lake" / "_locks" / "t0" / "lock"

    with subprocess.Popen(
        command, cwd=deployment.root, env=environment, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        wait_until(lambda: lock.exists() and "run_id" in lock.read_text(), 60)
        os.killpg(process.pid, signal.SIGTERM)
        _, errors = process.communicate(timeout=PATIENCE_S)

    assert process.returncode == 75, errors
    report = json.loads((tmp_path / "report.json").read_text())
    outcomes = {table["table"]: table["outcome"] for table in report["tables"]}
    assert outcomes["t0"] in ("temporary", "committed")
    assert (report["outcome"], outcomes["t1"]) == ("temporary", "temporary")
    assert "table t1: stopped by SIGTERM" in errors
    wait_until(lambda: not group_lives(process.pid), 10)
    with opened(deployment, lock_wait_s=0) as session:
        assert session.run().exit_code == 0
    assert [deployment.frame(name).count() for name in names] == [1, 1]


def wait_until(condition: Callable[[], bool], limit_s: float) -> None:
    """Wait until a condition holds."""
    until = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.02)
