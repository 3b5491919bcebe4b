"""Old commands and options work as the present ones do, and name them."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.cli.app import COMMANDS
from ingest.cli.old_spellings import RENAMED
from tests.lakes import MadeDeployment

SPELLINGS = (
    ("history t --since 2026-01-01", "commits t --since 2026-01-01", "commits"),
    ("history t --at yesterday", "commits t --at yesterday", "commits"),
    ("report --json --html=www", "pages --json --to=www", "pages --to"),
    ("report t --html www", "pages t --to www", "pages --to"),
    ("verify t --files --no-keys --json", "check t --no-keys --json", "check"),
    ("verify --files --counts", "check --counts", "check"),
    ("schema types cdl --json", "schema show --connector cdl --json", "schema show --connector"),
    ("schema types mysql --markdown", "schema show --connector mysql --markdown", "schema show --connector"),
    ("schema history other", "schema versions other", "schema versions"),
    ("local load nowhere", "local produce nowhere", "local produce"),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a deployment with a table, whose servers do not answer."""
    deployment = MadeDeployment(tmp_path / "deployment")
    deployment.table("t").commit(1)
    return deployment.root


def ingest(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a process of its own."""
    line = [sys.executable, "-m", "ingest", *shlex.split(command)]
    return subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)


def without_warning(text: str) -> list[str]:
    """Return the lines without those about an old spelling."""
    return [line for line in text.splitlines() if "is now" not in line]


@pytest.mark.parametrize(("old", "present", "named"), SPELLINGS, ids=[old for old, *_ in SPELLINGS])
def test_an_old_spelling_does_the_same_and_names_the_present_one(
    old: str, present: str, named: str, folder: Path
) -> None:
    """Output, exit code and errors are the present command's; the warning is on standard error."""
    before, after = ingest(folder, old), ingest(folder, present)

    assert (before.returncode, before.stdout) == (after.returncode, after.stdout)
    assert without_warning(before.stderr) == without_warning(after.stderr)
    assert f"is now `ingest {named}`" in before.stderr
    assert "is now" not in after.stderr


def test_status_html_writes_pages(folder: Path) -> None:
    """Next to its own output, as before."""
    status = ingest(folder, "status --html www")

    assert "is now `ingest pages --to`" in status.stderr
    assert (folder / "www" / "table" / "t.html").is_file()


def test_every_old_command_is_out_of_the_help_and_every_present_one_is_in_it(tmp_path: Path) -> None:
    """The help lists each command once, under its group."""
    text = ingest(tmp_path, "--help").stdout
    words = [line.split()[1] for line in text.splitlines() if line.startswith("│")]

    assert words[:6] == ["init", "onboard", "plan", "run", "status", "verify"]
    for group, commands in COMMANDS.items():
        assert f"─ {group} ─" in text
        assert set(commands) <= set(words)
    assert not {renamed.old for renamed in RENAMED} & set(words)
