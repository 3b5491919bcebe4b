"""Tables without new messages are run, planned and shown without a JVM, with the same answers as by Spark."""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest import Session
from ingest.api.session import silent
from ingest.hudi.lake_files import LakeFiles
from ingest.operations.plan import PlanTask
from ingest.operations.status.status import StatusTask
from ingest.run.task import RunTask
from ingest.run.work.context import Context
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.spark.driver import Driver
from ingest.spark.hadoop_settings import LOCAL, UNKNOWN, HadoopSettings
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.e2e.tablefiles import add_text, copy_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
TASKS: tuple[Any, ...] = (RunTask, StatusTask, PlanTask)
BY_TIME = ("seconds", "step_seconds", "source_lag_s", "lag_s", "free_bytes")


class SparkStartedError(Exception):
    """A table needed Spark, though its files could have answered."""


class IdleDriver(Driver):
    """A driver that must not start Spark."""

    def start(self, messages: int, file_bytes: int) -> SparkSession:
        """Fail the test."""
        raise SparkStartedError(messages, file_bytes)


def answers(session: Session, hadoop: HadoopSettings, task: Any, names: list[str]) -> list[dict[str, Any]]:
    """Return a task's results as JSON, without the times; with `LOCAL` nothing may start Spark."""
    driver = (IdleDriver if hadoop == LOCAL else Driver)(session.settings, session.spark)
    files = LakeFiles(session.settings.lake, hadoop)
    run = Context("r", session.settings, files, driver, lambda: session.registry, None, silent)
    tables = session.tables(names)
    feeds, watermarks = resolve(run, tables)
    results = work_on_tables(run, tables, TopicsTask(task(watermarks), feeds))
    return [without_times(result.to_json()) for result in results]


def without_times(content: dict[str, Any]) -> dict[str, Any]:
    """Drop the fields that differ from one look to the next, or by the user who looks (free_bytes)."""
    plain = {key: value for key, value in content.items() if key not in BY_TIME}
    return {key: without_times(value) if isinstance(value, dict) else value for key, value in plain.items()}


def ingest_without_java(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command line where no Java can be found."""
    environment = {key: text for key, text in os.environ.items() if not key.startswith("INGEST_")}
    environment |= {"JAVA_HOME": str(folder / "nowhere"), "PATH": str(folder / "nowhere")}
    return subprocess.run(
        [sys.executable, "-m", "ingest", *command],
        cwd=folder, env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_no_command_on_idle_tables_needs_java(make_deployment: Callable[[], Deployment]) -> None:
    """Run, plan, status and check work where Java is missing, until a message waits."""
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("idle", "fresh")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    topics["idle"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(3)))
    add_text(deployment, "idle", '"hoodie.clean.commits.retained" = "5"')
    assert deployment.run(["idle"]).exit_code == 0

    run = ingest_without_java(deployment.root, "run", "--report", "run.json")
    status = ingest_without_java(deployment.root, "status", "--json", "--max-lag", "0")
    plan = ingest_without_java(deployment.root, "plan", "--json")
    offsets = ingest_without_java(deployment.root, "status", "idle", "--offsets")
    old = ingest_without_java(deployment.root, "offsets", "show", "idle", "--json")
    verified = ingest_without_java(
        deployment.root, "check", "idle", "--no-keys", "--json", "--bootstrap-servers", "nowhere:1"
    )

    compared = ingest_without_java(deployment.root, "verify")
    assert compared.returncode == 2
    assert "the settings have no source" in compared.stderr

    for done in (run, status, plan, offsets, old, verified):
        assert done.returncode == 0, done.stderr
    report = json.loads((deployment.root / "run.json").read_text())
    assert [(table["table"], table["outcome"]) for table in report["tables"]] == [
        ("fresh", "idle"), ("idle", "idle"),
    ]  # fmt: skip
    assert [(table["rows"], table["lag"], table["health"]) for table in json.loads(status.stdout)] == [
        (None, 0, "not run yet"), (3, 0, "ok"),
    ]  # fmt: skip
    assert [table["verdict"] for table in json.loads(plan.stdout)] == ["idle", "idle"]
    assert re.search(r"^partition +next offset +applied up to\n─+\n +0 +3 +3$", offsets.stdout, re.MULTILINE)
    assert json.loads(old.stdout)["offsets"] == {"0": 3}
    assert "is now `ingest status --offsets`" in old.stderr
    (check,) = json.loads(verified.stdout)
    assert (check["outcome"], check["commits"], check["rows"]) == ("sound", 1, None)

    topics["idle"].send(Change("u", {"id": 0, "v": "b"}, at=9))
    waiting = ingest_without_java(deployment.root, "run")
    assert waiting.returncode != 0
    assert "Java" in waiting.stderr
    after = ingest_without_java(deployment.root, "status", "--max-lag", "0")
    assert after.returncode == 2
    assert re.search(r"tables fresh, idle: the run of .* ago failed: ", after.stderr)  # it lacked Java

    with locked_by_another(deployment.root / "lake", "idle"):
        for verb in ("run", "maintain"):
            busy = ingest_without_java(deployment.root, verb, "idle", "--report", "busy.json")
            assert busy.returncode == 75, busy.stderr
            (table,) = json.loads((deployment.root / "busy.json").read_text())["tables"]
            assert (table["outcome"], table["error"]) == ("temporary", LOCKED)


LOCKED = (
    "table idle: locked by another writer: run other, process 7 on elsewhere, since 2026-01-01T00:00:00Z. "
    "Try again when it is done."
)


@contextmanager
def locked_by_another(lake: Path, table: str) -> Iterator[None]:
    """Hold a table's lock in this process, as the JVM of another run does."""
    with (lake / "_locks" / table / "lock").open("r+") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        file.write('{"run_id": "other", "host": "elsewhere", "pid": 7, "since": "2026-01-01T00:00:00Z"}')
        file.flush()
        yield
        file.truncate(0)


def test_rows_in_log_files_are_counted_once(make_deployment: Callable[[], Deployment]) -> None:
    """Spark counts them for the first status, and again after a commit.  Pages show what is counted."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.logged": COLUMNS})
    deployment.onboard(type="mor")
    with deployment.session as session:
        for size in (3, 5):
            topics["logged"].send(*(Change("c", {"id": n, "v": "a"}, at=n) for n in range(size)))
            assert session.run(["logged"]).exit_code == 0
        assert list((deployment.root / "lake" / "logged").rglob(".*.log.*"))
        with pytest.raises(SparkStartedError):
            answers(session, LOCAL, StatusTask, ["logged"])
        (counted,) = session.status(["logged"])
        (remembered,) = answers(session, LOCAL, StatusTask, ["logged"])
        (shown,) = session.report_html(deployment.root / "pages", ["logged"]).tables
        assert counted.rows == remembered["rows"] == shown.status.rows == 5

        topics["logged"].send(Change("d", {"id": 1, "v": "a"}, at=9))
        assert session.run(["logged"]).exit_code == 0
        with pytest.raises(SparkStartedError):
            answers(session, LOCAL, StatusTask, ["logged"])
        (shown,) = session.report_html(deployment.root / "pages", ["logged"]).tables
        assert shown.status.rows is None
        assert session.status(["logged"])[0].rows == 4


def test_a_run_without_messages_compacts_costly_tables(make_deployment: Callable[[], Deployment]) -> None:
    """An upkeep that failed or was killed leaves log files: the next run starts Spark for them, once."""
    deployment = make_deployment()
    topics = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.costly": COLUMNS})
    deployment.onboard(type="mor")
    file = deployment.root / "tables" / "costly.toml"
    file.write_text(file.read_text().replace("\ncompact_at = 0.0\n", "\ncompact_at = 0.1\n"))
    settings, random = deployment.root / "ingest.toml", Random(7)  # noqa: S311  not for secrets
    left = {"run.upkeep": "maintain"}
    with Session.open(settings, overrides=left, spark=deployment.spark) as session:
        for op in "cu":
            rows = [{"id": n, "v": random.randbytes(2_500).hex()} for n in range(300)]
            topics["costly"].send(*(Change(op, row, at=n) for n, row in enumerate(rows)))
            assert session.run(["costly"]).exit_code == 0
        assert answers(session, LOCAL, RunTask, ["costly"])[0]["outcome"] == "idle"
        assert session.status(["costly"])[0].cost.log_bytes > 1_000_000
    with locked_by_another(deployment.root / "lake", "costly"):
        busy = ingest_without_java(deployment.root, "run", "costly")
        assert busy.returncode == 0, busy.stderr
    with deployment.session as session:
        with pytest.raises(SparkStartedError):
            answers(session, LOCAL, RunTask, ["costly"])
        (idle,) = session.run(["costly"]).tables
        assert (idle.outcome, idle.error) == ("idle", None)
        assert answers(session, LOCAL, RunTask, ["costly"])[0]["outcome"] == "idle"
        assert session.status(["costly"])[0].cost.log_files == 0
    written = deployment.spark.read.format("hudi").load(str(deployment.root / "lake" / "costly"))
    assert {row["id"]: row["v"] for row in written.collect()} == {row["id"]: row["v"] for row in rows}


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_files_and_spark_give_the_same_answers(make_deployment: Callable[[], Deployment], kind: str) -> None:
    """Idle, broken and changed tables have the same outcome, plan and status whichever reader answers."""
    deployment = make_deployment()
    names = ("good", "versions", "damaged", "changed")
    topics = make_topics(
        deployment.servers, {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in names}
    )
    deployment.onboard(type=kind)
    for changes in (
        [Change("c", {"id": n, "v": "a"}, at=n) for n in range(4)],
        [Change("d", {"id": 0, "v": "a"}, at=9)],
    ):
        for topic in topics.values():
            topic.send(*changes)
        assert deployment.run().exit_code == 0
    break_tables(deployment, topics["versions"], kind)
    tables = sorted(path.stem for path in deployment.tables.glob("*.toml"))
    # Rows in log files are counted by Spark: those of a status, and those of the plan of a rebuild.
    uncountable: dict[Any, tuple[str, ...]] = {StatusTask: ("good", "versions"), PlanTask: ("changed",)}

    metrics = {"run.metrics": str(deployment.root)}
    settings = deployment.root / "ingest.toml"
    with Session.open(settings, overrides=metrics, spark=deployment.spark) as session:
        for task in TASKS:
            left_out = uncountable.get(task, ()) if kind == "mor" else ()
            chosen = [name for name in tables if name not in left_out]
            by_files = answers(session, LOCAL, task, chosen)
            assert by_files == answers(session, UNKNOWN, task, chosen), task
            if task is not RunTask:
                newest = session.registry.newest(session.registry.subjects())
                assert f"{topics['versions'].name}-value" in newest
                assert by_files == answers(session, LOCAL, partial(task, newest=newest), chosen), task
        (status,) = session.status(["good"])
        assert (status.rows, status.error) == (3, None)


def break_tables(deployment: Deployment, versions: Any, kind: str) -> None:
    """Change table files, damage a table, and register a version that no message has."""
    copy_table(deployment, "good", "stray", topic='"nowhere.testDB.dbo.t"')
    copy_table(deployment, "good", "unrun", topic='"nowhere.testDB.dbo.u"')
    add_text(deployment, "unrun", '"hoodie.table.name" = "x"')
    data = deployment.root / "lake" / "damaged"
    pattern = "*.parquet" if kind == "cow" else ".*.log.*[0-9]"
    for file in data.glob(pattern):
        file.unlink()
    versions.add_version({**COLUMNS, "w": nullable("string")})
    changed = deployment.tables / "changed.toml"
    other = "mor" if kind == "cow" else "cow"
    changed.write_text(changed.read_text().replace(f'type = "{kind}"', f'type = "{other}"'))
