"""Completion: table names from the table files of the deployment, without its secrets."""

import subprocess
from pathlib import Path

import pytest

from ingest.cli.app import call

SETTINGS = '[registry]\nbasic_auth = {{ command = "touch {0}/executed" }}\n'


def candidates(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    """Complete the last word, as the scripts do; return the candidates."""
    assert call(["__complete", *words]) == 0
    return capsys.readouterr().out.partition("\x1fbegin\n")[2].split()


def test_tables_complete_by_the_names_in_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A broken file counts by its own name; a settings file is not opened, so no command of it runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ingest.toml").write_text(SETTINGS.format(tmp_path))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "file.toml").write_text('# x\ntable = "orders"\ntopic = "a.orders"\n')
    (tmp_path / "tables" / "broken.toml").write_text("half a fi")
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.toml").write_text("table = 'items'\n")

    assert candidates(capsys, "run", "--max-offsets", "5", "") == ["broken", "orders"]
    assert candidates(capsys, "rejects", "show", "") == ["broken", "orders"]
    assert candidates(capsys, "offsets", "set", "--tables", str(other), "") == ["items"]
    assert candidates(capsys, "plan", "--settings", "missing.toml", "") == []
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_each_shell_is_printed(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It knows the commands, and asks for the tables; bash accepts its syntax."""
    assert call(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "onboard" in script
    assert "__complete" in script
    if shell == "bash":
        subprocess.run(["/bin/bash", "-n"], input=script, text=True, check=True)
