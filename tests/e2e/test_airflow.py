"""Airflow runs the example DAGs from its own environment, against a real broker, registry, Spark and Hudi."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.api.session import Session
from ingest.local.ports import choose_port
from ingest.local.process import Process, stop_processes
from ingest.local.servers import Addresses, down, up
from ingest.testing import nullable
from tests.e2e.deployment import LIGHT_JVM
from tests.e2e.events import Change, make_topics
from tests.patience import PATIENCE_S
from tests.schedule import reports

pytestmark = [pytest.mark.spark, pytest.mark.servers]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "ingest" / "schedule" / "example_dags"
AIRFLOW = ROOT / ".venv-airflow" / "bin" / "airflow"
FOLDER, WAITING, BY_HAND = "example_ingest_dag", "example_after_customers", "example_ingest_tasks"
ENDED = ("success", "failed", "upstream_failed", "skipped")
COLUMNS = {"id": "int", "v": nullable("string")}


@attrs.frozen
class Airflow:
    """An Airflow of this module: its home, its metadata database, its command line."""

    home: Path
    deployment: Path
    port: int
    dags: Path = EXAMPLES
    parallel_tasks: int = 1

    def environment(self) -> dict[str, str]:
        """Return a worker's environment, without variables of this process's Python or of `ingest`."""
        inherited = {
            k: v for k, v in os.environ.items() if not k.startswith(("INGEST_", "AIRFLOW", "VIRTUAL_ENV"))
        }
        return {
            **inherited,
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
            "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
            "AIRFLOW__API_AUTH__JWT_SECRET": "of scheduler and API server, and of this test alone",
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{self.port}/execution/",
            "AIRFLOW__CORE__PARALLELISM": str(self.parallel_tasks),
            "AIRFLOW__CORE__MIN_SERIALIZED_DAG_UPDATE_INTERVAL": "0",
            "AIRFLOW__CORE__MIN_SERIALIZED_DAG_FETCH_INTERVAL": "0",
            "INGEST_BIN": str(Path(sys.executable).with_name("ingest")),
            "INGEST_SETTINGS": str(self.deployment / "ingest.toml"),
            "INGEST_TABLES": str(self.deployment / "tables"),
        }

    def start(self, *command: str, log: str | None = None) -> subprocess.Popen[str]:
        """Start `airflow`; its log goes to a file in its home, or is standard output."""
        out = (self.home / log).open("a") if log else subprocess.PIPE
        return subprocess.Popen(
            [str(AIRFLOW), *command], cwd=self.home, env=self.environment(), text=True,
            stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip

    def run(self, *command: str, code: int = 0) -> str:
        """Run `airflow`, check its exit code, return its output."""
        with self.start(*command) as process:
            output, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, output
        return output

    @contextmanager
    def scheduler(self) -> Iterator[None]:
        """Run Airflow's scheduler and the API server of its tasks."""
        commands = (("api-server", "--apps", "execution", "--port", str(self.port)), ("scheduler",))
        servers = [self.start(*command, log="servers.log") for command in commands]
        try:
            yield
        finally:
            for server in servers:
                os.killpg(server.pid, signal.SIGKILL)
                server.wait()

    def wait(self, is_over: Callable[[], object]) -> None:
        """Wait until the scheduler has acted."""
        end = time.monotonic() + PATIENCE_S
        while not is_over():
            assert time.monotonic() < end, (self.home / "servers.log").read_text()[-3000:]
            time.sleep(0.3)

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Query the metadata database."""
        with closing(sqlite3.connect(self.home / "airflow.db")) as connection:
            return connection.execute(sql).fetchall()

    def execute(self, sql: str) -> None:
        """Change the metadata database."""
        with closing(sqlite3.connect(self.home / "airflow.db")) as connection, connection:
            connection.execute(sql)

    def reports(self, dag_id: str, key: str = "report") -> list[Any]:
        """Return the XComs of a DAG, such as run reports."""
        rows = self.query(f"select value from xcom where dag_id = '{dag_id}' and key = '{key}'")
        return [json.loads(str(value)) for (value,) in rows]  # SQLite converts JSON numbers

    def states(self, dag_id: str, run_id: str = "%") -> dict[str, tuple[str, int]]:
        """Return state and number of tries of a DAG's tasks, without the name of their group."""
        rows = self.query(
            "select task_id, state, try_number from task_instance "
            f"where dag_id = '{dag_id}' and run_id like '{run_id}'"
        )
        return {name.removeprefix("ingest."): (state, tries) for name, state, tries in rows}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Return the data folder of servers that this module may stop."""
    data = tmp_path_factory.mktemp("airflow-servers")
    yield data
    down(data)


@pytest.fixture(scope="module")
def airflow(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Airflow:
    """Set up Airflow's database while broker and registry start; `make test` has created its environment."""
    if not AIRFLOW.exists():
        subprocess.run(["make", ".venv-airflow/.stamp"], cwd=ROOT, check=True)
    home, deployment = (tmp_path_factory.mktemp(name) for name in ("airflow", "deployment"))
    instance = Airflow(home, deployment, choose_port())
    with ThreadPoolExecutor() as threads:
        starting = threads.submit(up, data)
        instance.run("db", "migrate")
        onboard(deployment, starting.result())
    return instance


def onboard(deployment: Path, servers: Addresses) -> None:
    """Onboard a table with changes and one without; add one with a missing topic, and a broken file."""
    (deployment / "ingest.toml").write_text(
        f'[registry]\nurl = "{servers.registry_url}"\n'
        f'[kafka]\nbootstrap_servers = "{servers.bootstrap_servers}"\n'
        f'[spark]\nmaster = "local[2]"\n{LIGHT_JVM}'
    )
    topics = make_topics(servers, {f"a.testDB.dbo.{name}": COLUMNS for name in ("customers", "orders")})
    with Session.open(deployment / "ingest.toml") as session:
        session.onboard(["a.*"], name="{table}")
    topics["customers"].send(*(Change("c", {"id": i, "v": "a"}, at=i) for i in range(30)))
    text = (deployment / "tables" / "orders.toml").read_text()
    stray = text.replace("a.testDB.dbo.orders", "nowhere").replace('table = "orders"', 'table = "stray"')
    (deployment / "tables" / "stray.toml").write_text(stray)
    (deployment / "tables" / "torn.toml").write_text(f"colour = 1\n{text}")


@pytest.fixture(scope="module")
def output(airflow: Airflow) -> str:
    """Run the DAG of the folder, once for all tests; return its output."""
    return airflow.run("dags", "test", FOLDER, code=1)


def test_a_folder_of_tables_runs_as_a_task_each(airflow: Airflow, output: str) -> None:
    """New rows, no new rows, a missing topic, a broken file: each with its state, reason, XCom and event."""
    assert airflow.states(FOLDER) == {
        "customers": ("success", 1),
        "orders": ("success", 1),
        "stray": ("failed", 1),
        "torn": ("failed", 1),
    }
    assert "topic nowhere does not exist on Kafka" in output
    assert f"{airflow.deployment}/tables/torn.toml:1: colour: unknown key" in output
    ran = [table for report in airflow.reports(FOLDER) for table in report["tables"]]
    outcomes = {table["table"]: table["outcome"] for table in ran}
    assert outcomes == {"customers": "committed", "orders": "idle", "stray": "failed", "torn": "failed"}
    events = airflow.query("select uri, asset_event.extra from asset_event join asset on asset.id = asset_id")
    counts = {
        uri: (extra["outcome"], extra["upserted"]) for uri, text in events if (extra := json.loads(text))
    }
    assert counts == {"hudi://lake/customers": ("committed", 30), "hudi://lake/orders": ("idle", 0)}


@pytest.mark.usefixtures("output")
def test_a_dag_scheduled_on_a_table_starts_after_its_run(airflow: Airflow) -> None:
    """By Airflow's scheduler, with the counts of the previous run."""
    airflow.execute(f"update dag set is_paused = (dag_id = '{FOLDER}')")  # the hourly DAG would start too
    with airflow.scheduler():
        airflow.wait(lambda: airflow.states(WAITING).get("count_changes", ("", 0))[0] in ENDED)

    assert airflow.states(WAITING) == {"is_changed": ("success", 1), "count_changes": ("success", 1)}
    assert airflow.query(f"select run_type from dag_run where dag_id = '{WAITING}'") == [("asset_triggered",)]
    assert 30 in airflow.reports(WAITING, "return_value")


@pytest.mark.usefixtures("output")
def test_an_unreachable_broker_is_retried_and_a_missing_table_file_is_not(
    airflow: Airflow, data: Path
) -> None:
    """Exit code 75 is up for retry until the broker is back; 2 fails at once; a summary sees both."""
    stop_processes([Process("broker", data)])
    with airflow.start("dags", "test", BY_HAND) as process, ThreadPoolExecutor() as threads:
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if "exit code 75" in line:
                threads.submit(up, data)

    states = airflow.states(BY_HAND)
    assert states.pop("customers")[0] == "success", "".join(lines)
    assert states == {
        "orders.session-1": ("success", 1), "orders.orders": ("success", 1),
        "orders.order_lines": ("failed", 1), "summary": ("success", 1),
    }  # fmt: skip
    assert any("ingest failed for a temporary reason (exit code 75)" in line for line in lines)
    assert any("Kafka 127.0.0.1:" in line for line in lines)
    assert any("table 'order_lines' does not exist" in line for line in lines)
    assert airflow.query(f"select max(try_number) from task_instance where dag_id = '{BY_HAND}'") > [(1,)]
    assert airflow.reports(BY_HAND, "return_value")[-1] == {"customers": "idle", "orders": "idle"}


SLOW = """#!{python} -S
import pathlib, signal, subprocess, sys, time
here = pathlib.Path(__file__).parent
def end(*_):
    time.sleep(8)  # longer than Airflow waits before it kills its own process
    (here / "ended").touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, end)
child = subprocess.Popen(["sh", "-c", "trap '' TERM; sleep 300"])
(here / "child").write_text(str(child.pid))
(here / "child").rename(here / "ready")
while True:
    time.sleep(1)
"""
SLOW_DAG = """
from airflow.sdk import DAG
from ingest.schedule import IngestOperator
with DAG("slow", schedule="@once"):
    IngestOperator(task_id="slow", executable="{executable}", tables="t", kill_after_s=10)
"""


def is_gone(pid: int) -> bool:
    """Return whether a process has ended; a zombie has no command line."""
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


@pytest.mark.pairs
def test_marking_a_running_task_failed_ends_its_job_cleanly(tmp_path: Path) -> None:
    """Airflow's supervisor kills its task after 5 s; the job takes longer, and no process remains."""
    (tmp_path / "dags").mkdir()
    executable = tmp_path / "ingest"
    executable.write_text(SLOW.format(python=sys.executable))
    executable.chmod(0o755)
    (tmp_path / "dags" / "slow.py").write_text(SLOW_DAG.format(executable=executable))
    airflow = Airflow(tmp_path, tmp_path, choose_port(), tmp_path / "dags")
    airflow.run("db", "migrate")
    airflow.run("dags", "reserialize")

    with airflow.scheduler():
        airflow.wait((tmp_path / "ready").exists)
        airflow.execute(
            "update task_instance set state = 'failed' where dag_id = 'slow'"
        )  # as the button does
        airflow.wait((tmp_path / "ended").exists)
        child = int((tmp_path / "ready").read_text())
        airflow.wait(lambda: is_gone(child))

    assert airflow.states("slow") == {"slow": ("failed", 1)}


LAKE = """#!{python} -S
import json, os, pathlib, sys, time
here = pathlib.Path(__file__).parent
table = sys.argv[2]
with (here / "calls").open("a") as calls:
    calls.write(os.environ["AIRFLOW_CTX_DAG_RUN_ID"] + " " + table + "\\n")
is_locked = (here / (table + ".locked")).exists()
report = json.loads((here / ("locked" if is_locked else "report")).read_text().replace("TABLE", table))
pathlib.Path(sys.argv[sys.argv.index("--report") + 1]).write_text(json.dumps(report))
sys.exit(75 if is_locked else 0)
"""
LAKE_DAG = """
from datetime import timedelta
from airflow.sdk import DAG, task
from ingest.schedule import has_changed, ingest_dag, table_asset
dag = ingest_dag(
    "lake", tables_dir="{tables}", operator_args={{"executable": "{executable}"}},
    default_args={{"retries": 1, "retry_delay": timedelta(hours=1)}},
)
PARTS = table_asset("parts")
with DAG("after_parts", schedule=[PARTS]):
    @task.short_circuit(inlets=[PARTS])
    def is_changed():
        return has_changed(PARTS)
    @task
    def use():
        pass
    is_changed() >> use()
"""


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Airflow]:
    """Run a scheduler with the DAG `lake` of two tables, over a program in place of `ingest`."""
    for name in ("dags", "tables"):
        (tmp_path / name).mkdir()
    executable = tmp_path / "ingest"
    executable.write_text(LAKE.format(python=sys.executable))
    executable.chmod(0o755)
    (tmp_path / "dags" / "lake.py").write_text(
        LAKE_DAG.format(executable=executable, tables=tmp_path / "tables")
    )
    for table in ("orders", "parts"):
        (tmp_path / "tables" / f"{table}.toml").write_text(f'table = "{table}"\n')
    (tmp_path / "locked").write_text(json.dumps(reports.report(reports.table("TABLE", "temporary", "x"))))
    airflow = Airflow(tmp_path, tmp_path, choose_port(), tmp_path / "dags", parallel_tasks=3)
    airflow.run("db", "migrate")
    airflow.run("dags", "reserialize")
    with airflow.scheduler():
        yield airflow


def test_a_task_keeps_its_table_and_holds_up_only_that(lake: Airflow) -> None:
    """A table in retry, a file added before it, a second run meanwhile; then a run of only one table.

    The DAG behind a table sees its commits, also the one after which a task was killed: it is in the next
    event, of an idle run.
    """
    home, tables = lake.home, lake.home / "tables"

    def trigger(run_id: str, outcome: str, committed_at: str, *options: str) -> None:
        report = reports.report(reports.table("TABLE", outcome))
        report["tables"][0]["metrics"]["last_commit_at"] = committed_at
        (home / "report").write_text(json.dumps(report))
        lake.run("dags", "trigger", "lake", "--run-id", run_id, *options)

    def wait(run_id: str, **states: tuple[str | None, int]) -> None:
        lake.wait(lambda: states.items() <= lake.states("lake", run_id).items())

    def wait_for_use(count: int) -> list[str]:
        """Wait for runs of the DAG behind `parts`; return the states of its last task."""
        sql = "select state from task_instance where dag_id = 'after_parts' and task_id = 'use' order by id"
        lake.wait(lambda: [state in ENDED for (state,) in lake.query(sql)] == [True] * count)
        return [state for (state,) in lake.query(sql)]

    (home / "orders.locked").touch()
    trigger("one", "committed", "2026-11-24T10:00:00Z")
    wait("one", orders=("up_for_retry", 1), parts=("success", 1))
    assert wait_for_use(1) == ["success"]

    (tables / "aaa_new.toml").write_text('table = "aaa_new"\n')
    lake.run("dags", "reserialize")
    trigger("two", "idle", "2026-11-24T11:00:00Z")
    wait("two", aaa_new=("success", 1), parts=("success", 1), orders=("up_for_retry", 1))
    assert lake.states("lake", "one")["orders"] == ("up_for_retry", 1), "its retry is an hour away"
    assert sorted(wait_for_use(2)) == ["success", "success"]

    (home / "orders.locked").unlink()
    lake.execute(
        "update task_instance set end_date = datetime(end_date, '-2 hours') where state = 'up_for_retry'"
    )
    wait("one", orders=("success", 2))
    wait("two", orders=("success", 2))
    calls = [line.split() for line in (home / "calls").read_text().splitlines()]
    assert sorted(table for run_id, table in calls if run_id == "two") == [
        "aaa_new",
        "orders",
        "orders",
        "parts",
    ]
    assert [table for run_id, table in calls if run_id == "one" and table != "aaa_new"].count("orders") == 2
    assert [table for run_id, table in calls if run_id == "one"].count("parts") == 1

    trigger("three", "idle", "2026-11-24T11:00:00Z", "--conf", '{"tables": ["parts"]}')
    wait("three", aaa_new=("skipped", 1), orders=("skipped", 1), parts=("success", 1))
    assert sorted(wait_for_use(3)) == ["skipped", "success", "success"]
