"""What `ingest status` and `ingest runs` say of a deployment whose broker is dead, without Java."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lakes import MadeDeployment

DEAD = '[registry]\nurl = "http://127.0.0.1:9"\n[kafka]\nbootstrap_servers = "127.0.0.1:9"\ntimeout_s = 2\n'


def ingest(folder: Path, *command: str) -> "subprocess.CompletedProcess[str]":
    """Run a command in a process without Java."""
    env = {"PATH": "", "HOME": "/", "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.run(
        [sys.executable, "-m", "ingest", *command],
        cwd=folder, env=env, check=False, capture_output=True, text=True,
    )  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make two tables with commits, and a table file that is not one."""
    deployment = MadeDeployment(tmp_path / "deployment", DEAD)
    deployment.table("orders").commit(7)
    deployment.table("customers").commit(3)
    (deployment.root / "tables" / "typo.toml").write_text("table = 1\n")
    return deployment.root


def test_without_a_broker_tables_are_shown_and_nothing_is_well(folder: Path) -> None:
    """Rows and commits come from the files; the state is unknown, and said once for all tables."""
    (folder / "tables" / "typo.toml").unlink()
    answer = ingest(folder, "status", "--json")
    found = {table["table"]: table for table in json.loads(answer.stdout)}
    assert {name: (table["rows"], table["health"], table["lag"]) for name, table in found.items()} == {
        "orders": (7, "unknown", None), "customers": (3, "unknown", None),
    }  # fmt: skip
    assert answer.returncode == 75, answer.stderr
    assert len(answer.stderr.splitlines()) == 1, answer.stderr
    pages = ingest(folder, "pages", "--to", "www", "--json")
    assert json.loads(pages.stdout)["states"] == {"unknown": 2}


def test_a_run_that_fails_is_kept_and_decides_the_state_of_its_tables(folder: Path) -> None:
    """The whole run without a broker: its error in the list, its report by its id."""
    assert ingest(folder, "runs").stdout == "No run is kept yet.\n"
    assert ingest(folder, "run").returncode == 75
    (summary,) = json.loads(ingest(folder, "runs", "--json").stdout)
    assert (summary["outcome"], summary["tables"]) == ("failed", {"failed": 1, "temporary": 2})
    assert any("127.0.0.1:9" in error for error in summary["errors"])
    report = json.loads(ingest(folder, "runs", summary["run_id"][:8], "--json").stdout)
    assert {table["table"] for table in report["tables"]} == {"orders", "customers", "typo"}
    line = ingest(folder, "runs").stdout.splitlines()[2]
    assert summary["run_id"][:8] in line
    assert "1 failed" in line
    shown = ingest(folder, "runs", summary["run_id"][:8])
    assert (shown.returncode, shown.stdout.count("temporary")) == (0, 2)
    assert ingest(folder, "runs", "nothing").returncode == 2

    status = ingest(folder, "status", "--json")
    outcomes = {table["table"]: table["last_outcome"]["outcome"] for table in json.loads(status.stdout)[:2]}
    assert outcomes == {"orders": "temporary", "customers": "temporary"}
    assert status.returncode == 2
    assert "typo.toml:1" in status.stderr
