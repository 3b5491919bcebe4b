"""What a command loads: the large libraries only if it needs them."""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import pytest

from ingest.lazy import LAZY

LARGE: Final = ("pyspark", "py4j", "confluent_kafka", "httpx2", "rich", "pyarrow", "jinja2", "openlineage")
LOADED: Final = f"""
import json, sys
print(json.dumps(sorted(name for name in {LARGE!r} if name in sys.modules)))
"""


def loaded(code: str, folder: Path) -> list[str]:
    """Run code in a fresh process, and return the large libraries that it loaded."""
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{LOADED}"], capture_output=True, text=True, check=True, cwd=folder,
        env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    libraries: list[str] = json.loads(done.stdout.splitlines()[-1])
    return libraries


def command(*arguments: str) -> str:
    """Return code that runs a command of `ingest`."""
    return (
        f"from ingest.cli.app import main\ntry:\n    main({list(arguments)!r})\nexcept SystemExit:\n    pass"
    )


@pytest.mark.parametrize(
    ("code", "libraries"),
    [
        ("import ingest", []),
        ("import ingest.schedule", []),
        ("from ingest import Session", []),
        (command("--help"), ["rich"]),
        (command("status", "--help"), ["rich"]),
        (command("status", "--settings", "ingest.toml"), ["confluent_kafka", "rich"]),
    ],
    ids=["package", "DAG", "session", "help", "help of status", "status"],
)
def test_a_command_loads_the_libraries_that_it_needs(tmp_path: Path, code: str, libraries: list[str]) -> None:
    """Spark's start is dear, and Airflow reads DAG files all the time."""
    broker = '[kafka]\nbootstrap_servers = "127.0.0.1:9"\ntimeout_s = 0.1\n'
    (tmp_path / "ingest.toml").write_text(f'[registry]\nurl = "http://127.0.0.1:9"\n{broker}')
    (tmp_path / "tables").mkdir()
    table = 'table = "t"\ntopic = "t"\ndialect = "sqlserver"\n[subjects]\nvalue = "t-value"\n'
    (tmp_path / "tables" / "t.toml").write_text(table)

    assert loaded(code, tmp_path) == libraries


@pytest.mark.parametrize("package", LAZY)
def test_every_lazy_module_exists(package: str) -> None:
    """A misspelled name would show only where the module is used."""
    for name in LAZY[package].split():
        assert find_spec(f"ingest.{package}.{name}") is not None


def test_a_test_patches_a_module_that_is_not_loaded() -> None:
    """A stand-in passes the value on, and gives the old one back."""
    code = """
import pytest, sys
from ingest.run import follow
with pytest.MonkeyPatch.context() as patch:
    patch.setattr(follow, "BACKLOG", 2)
    module = sys.modules["ingest.run.follow"]
    assert module.BACKLOG == 2
assert module.BACKLOG > 2
"""
    subprocess.run([sys.executable, "-c", code], check=True)
