"""`ingest init` writes a settings file by flags or by asking, and never over another one."""

import json
import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from ingest.cli.app import call
from ingest.local.servers import Addresses
from ingest.settings import load

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "registry_fixtures" / "sqlserver"
BROKER = "127.0.0.1:1"
HOSTILE = 'a"b\\n'
"""A lake's name that must stay text."""


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, without a terminal."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.stdin", Path(os.devnull).open())  # noqa: SIM115  the fixture's process ends soon


def test_flags_become_a_file_that_loads_and_is_examined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only its owner can read it; exit code 1 as the broker is down; a second call changes nothing."""
    command = ["init", "--registry", str(FIXTURES), "--bootstrap-servers", BROKER, "--lake", HOSTILE]
    command += ["--readers", "spark, daft"]

    assert call([*command, "--json"]) == 1

    result = json.loads(capsys.readouterr().out)
    path = tmp_path / "ingest.toml"
    assert result["settings"] == str(path)
    problems = [check["check"] for check in result["checkup"]["checks"] if check["state"] == "problem"]
    assert problems == ["broker"]
    assert tomllib.loads(path.read_text())["lake"] == {"path": HOSTILE}
    assert load().kafka.bootstrap_servers == BROKER
    assert load().onboard.readers == ("spark", "daft")
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text()
    assert call(["init", "--bootstrap-servers", "other:1"]) == 2
    assert path.read_text() == text
    assert "exists already. Edit it, or name another file with --settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["init"], "Name them with --bootstrap-servers"),
        (["init", "--bootstrap-servers", "http://b:1"], "Remove the scheme"),
        (["init", "--bootstrap-servers", BROKER, "--readers", "sparc"], "Did you mean 'spark'?"),
        (["init", "--bootstrap-servers", BROKER, "--settings", "no/such/folder.toml"], "cannot be written"),
    ],
)
def test_a_wrong_call_writes_nothing(
    command: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, with the remedy."""
    assert call(command) == 2
    assert problem in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.servers
def test_a_terminal_is_asked_for_each_address_without_a_flag(tmp_path: Path, servers: Addresses) -> None:
    """An empty answer takes the default in brackets; exit code 0 as the broker is up."""
    terminal, stdin = pty.openpty()
    os.write(terminal, f"{FIXTURES}\n\nany\n".encode())
    done = subprocess.run(
        [sys.executable, "-m", "ingest", "init", "--bootstrap-servers", servers.bootstrap_servers],
        cwd=tmp_path, stdin=stdin, capture_output=True, text=True, check=False,
    )  # fmt: skip
    os.close(terminal)
    os.close(stdin)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "Schema registry: URL, or a folder of schemas [empty]: Lake: folder" in done.stderr
    written = tomllib.loads((tmp_path / "ingest.toml").read_text())
    assert written["onboard"] == {"readers": ["any"]}
    assert (written["registry"], written["lake"]) == ({"url": str(FIXTURES)}, {"path": "lake"})
    assert f"Wrote {tmp_path}/ingest.toml." in done.stdout


@pytest.mark.servers
def test_a_sample_needs_no_address(tmp_path: Path) -> None:
    """Servers, recorded topics and settings come by one command; the topics can be onboarded at once."""
    ingest = [sys.executable, "-m", "ingest"]
    options = {"cwd": tmp_path, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
    try:
        done = subprocess.run([*ingest, "init", "--sample"], check=False, **options)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout + done.stderr
        assert "`ingest onboard 'sqs*'`" in done.stdout
        onboarded = subprocess.run([*ingest, "onboard", "sqs*"], check=False, **options)  # type: ignore[call-overload]
        assert "4 new" in onboarded.stdout, onboarded.stderr
    finally:
        subprocess.run([*ingest, "local", "down"], check=True, **options)  # type: ignore[call-overload]


def test_a_sample_refuses_the_addresses_of_other_servers(capsys: pytest.CaptureFixture[str]) -> None:
    """The recorded events would go to a broker that is in use."""
    assert call(["init", "--sample", "--bootstrap-servers", BROKER]) == 2
    assert "--sample brings a broker and a registry" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["run", "plan", "status"])
def test_a_command_in_an_empty_folder_names_init(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is the first step of a deployment."""
    assert call([command]) == 2
    assert "`ingest init`" in capsys.readouterr().err
