"""What the README and the demo tell people to type exists."""

import os
import re
import shlex
from pathlib import Path

import pytest

from ingest import settings
from ingest.cli.app import app
from ingest.tables import read_all

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = (ROOT / "demo" / "demo.py").read_text(encoding="utf-8")

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_SHELL = re.compile(r"^(?:\$ )?(?:ingest|.*ingest/__main__\.py) (.+)$", re.MULTILINE)
_IN_DEMO = re.compile(r'(?:^  |command\(f?")ingest (.*?)(?:"\)|$)', re.MULTILINE)


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in a language."""
    return [text for found, text in _BLOCK.findall(README) if found == language]


SHELL = "\n".join([*blocks("sh"), *blocks("console")])
FOUND = [*_IN_SHELL.findall(SHELL), *_IN_DEMO.findall(DEMO)]
COMMANDS = sorted({found.partition(" #")[0].strip() for found in FOUND})
TARGETS = re.findall(r"\bmake ([a-z]+)", " ".join([SHELL, *re.findall(r"`([^`\n]+)`", README)]))
TOML = blocks("toml")


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_can_be_typed(command: str) -> None:
    """The real command line takes it, with these flags and arguments."""
    app.parse_args(shlex.split(command), print_error=False, exit_on_error=False)


def test_the_commands_were_found() -> None:
    """The search for commands finds those of the tour, of spark-submit and of the demo."""
    assert {"local up", "status", "onboard 'sqs*'"} <= set(COMMANDS)
    assert FOUND.count("run --report report.json") == 3


@pytest.mark.parametrize("target", sorted(set(TARGETS)))
def test_a_make_target_that_is_named_exists(target: str) -> None:
    """`make TARGET` does something."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("text", [one for one in TOML if not one.startswith("table = ")])
def test_shown_settings_are_settings(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is known, every value allowed."""
    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "ingest.toml"
    path.write_text(text, encoding="utf-8")
    assert settings.load(path).registry.url.startswith("http://")


@pytest.mark.parametrize("text", [one for one in TOML if one.startswith("table = ")])
def test_the_shown_table_file_is_one(text: str, tmp_path: Path) -> None:
    """Every key is known, every value allowed."""
    (tmp_path / "server1_dbo_customers.toml").write_text(text, encoding="utf-8")
    (table,) = read_all(tmp_path)
    assert table.hudi


@pytest.mark.parametrize("text", blocks("python"))
def test_the_shown_python_compiles(text: str) -> None:
    """No misprint; it was run by hand."""
    compile(text, "README.md", "exec")
