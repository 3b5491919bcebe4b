"""The plugin is there for everyone who installs `ingest`, and in nobody's way."""

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
    "ingest.run",
    "ingest.local",
)


def test_the_plugin_is_registered() -> None:
    """By the entry point that pytest looks for."""
    (found,) = entry_points(group="pytest11", name="ingest")
    assert found.value == "ingest.testing.plugin"


def test_loading_it_imports_nothing_heavy() -> None:
    """It is loaded in every pytest run of the environment; so are the builders' names."""
    script = "import sys, ingest.testing.plugin; print([m for m in sys.argv[1:] if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script, *HEAVY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_it_is_silent_for_those_who_do_not_use_it(tmp_path: Path) -> None:
    """A test of something else runs as ever, with warnings as errors."""
    (tmp_path / "test_else.py").write_text("def test_one():\n    pass\n")
    command = [sys.executable, "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
