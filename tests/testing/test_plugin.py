"""The plugin is available wherever `ingest` is installed, and disturbs nothing."""

import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

HEAVY = (
    "pyspark",
    "py4j",
    "confluent_kafka",
    "fastavro",
    "httpx2",
    "structlog",
    "ingest.run.task",
    "ingest.local.servers",
)


def test_the_plugin_is_registered() -> None:
    """By pytest's entry point."""
    (plugin,) = entry_points(group="pytest11", name="ingest")
    assert plugin.value == "ingest.testing.plugin"


def test_loading_it_imports_nothing_heavy() -> None:
    """Every pytest run of the environment loads it; the builders' names are as light."""
    script = "import sys, ingest.testing.plugin; print([m for m in sys.argv[1:] if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_does_not_affect_other_tests(tmp_path: Path) -> None:
    """An unrelated test runs as before, with warnings as errors."""
    (tmp_path / "test_else.py").write_text("def test_one():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
