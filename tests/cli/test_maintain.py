"""`ingest maintain` as a command: the report as text, as JSON and as a file; without a JVM where it can."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest.cli.app import call
from ingest.errors import LakeError, StoppedError, TableLockedError
from ingest.hudi.upkeep.services import Upkeep
from ingest.operations.maintain import Maintained, Maintenance
from tests.patience import PATIENCE_S

TABLE = 'table = "{0}"\ntopic = "s.{0}"\ndialect = "sqlserver"\n[subjects]\nvalue = "s.{0}-value"\n'
MOMENT = datetime(2026, 3, 1, 3, tzinfo=UTC)


def maintenance(*tables: Maintained) -> Maintenance:
    """Return the maintenance of tables."""
    return Maintenance("r", MOMENT, MOMENT, tables, is_dry=False)


def test_tables_without_commits_need_neither_a_jvm_nor_a_broker(tmp_path: Path) -> None:
    """They are idle, in the text, in the JSON and in the report's file."""
    (tmp_path / "tables").mkdir()
    for name in ("customers", "orders"):
        (tmp_path / "tables" / f"{name}.toml").write_text(TABLE.format(name))
    (tmp_path / "ingest.toml").write_text("")
    environment = os.environ | {"JAVA_HOME": "/nowhere", "PATH": "/nowhere"}

    def maintain(*arguments: str) -> str:
        command = [sys.executable, "-m", "ingest", "maintain", *arguments]
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_S,
        )  # fmt: skip
        return done.stdout

    content = json.loads(maintain("--dry-run", "--json", "--report", "out/report.json"))
    assert json.loads((tmp_path / "out" / "report.json").read_text()) == content
    assert (content["outcome"], content["dry_run"]) == ("done", True)
    assert [(table["table"], table["outcome"]) for table in content["tables"]] == [
        ("customers", "idle"), ("orders", "idle"),
    ]  # fmt: skip
    text = maintain("orders")
    assert "orders" in text
    assert "idle" in text
    assert "customers" not in text


@pytest.mark.parametrize(
    ("errors", "outcome", "code"),
    [
        ([], "done", 0),
        ([TableLockedError("t", "run 7")], "temporary", 75),
        ([StoppedError("t", "SIGTERM"), LakeError("t", "is damaged", "Restore it")], "failed", 1),
    ],
)
def test_the_worst_table_decides_the_exit_code(errors: list[Exception], outcome: str, code: int) -> None:
    """An error that another try would meet again outweighs one that it might not."""
    work = Maintained("good", Upkeep(removed_files=1))
    result = maintenance(work, *(Maintained("t", error=error) for error in errors))  # type: ignore[arg-type]
    content = result.to_json()

    assert (content["outcome"], result.exit_code) == (outcome, code)
    assert content["tables"][0]["outcome"] == "maintained"
    assert [table["error"] for table in content["tables"][1:]] == [str(error) for error in errors]


def test_a_wrong_table_is_a_wrong_usage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Exit code 2, before Spark starts."""
    (tmp_path / "orders.toml").write_text(TABLE.format("orders"))
    monkeypatch.chdir(tmp_path)
    assert call(["maintain", "order", "--tables", str(tmp_path)]) == 2
