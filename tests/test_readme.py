"""The commands, targets and settings that the README and the demo show exist."""

import os
import re
import shlex
from pathlib import Path

import pytest

from ingest import settings
from ingest.cli.app import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DEMO = (ROOT / "demo" / "demo.py").read_text(encoding="utf-8")

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_IN_SHELL = re.compile(r"^(?:\$ )?ingest (.+)$", re.MULTILINE)
_IN_DEMO = re.compile(r'(?:^  |command\(f?")ingest (.*?)(?:"\)|$)', re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")


def blocks(language: str) -> list[str]:
    """Return the README's code blocks in a language."""
    return [text for block_language, text in _BLOCK.findall(README) if block_language == language]


SHELL = "\n".join([*blocks("sh"), *blocks("console")])
SHOWN = [*_IN_SHELL.findall(SHELL), *_IN_DEMO.findall(DEMO)]
COMMANDS = sorted({command.partition(" #")[0].strip() for command in SHOWN})
TARGETS = re.findall(r"\bmake ([a-z]+)", " ".join([SHELL, *re.findall(r"`([^`\n]+)`", README)]))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_that_is_shown_parses(command: str) -> None:
    """The command line accepts its flags and arguments."""
    app.parse_args(shlex.split(command), print_error=False, exit_on_error=False)


def test_the_search_finds_the_commands() -> None:
    """The parametrized tests cover the commands of the README and of the demo."""
    assert {"status", "plan", "onboard 'server1.testDB.dbo.*'"} <= set(COMMANDS)
    assert "run --report report.json" in SHOWN


@pytest.mark.parametrize("target", sorted(set(TARGETS)))
def test_a_make_target_that_is_named_exists(target: str) -> None:
    """The Makefile has a rule for it."""
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.parametrize("text", blocks("toml"))
def test_shown_settings_are_valid(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every key is known, every value allowed."""
    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    path = tmp_path / "ingest.toml"
    path.write_text(text, encoding="utf-8")
    assert settings.load(path).registry.url.startswith("http://")


@pytest.mark.parametrize("link", sorted(set(_LINK.findall(README))))
def test_a_link_leads_to_a_file(link: str) -> None:
    """Every relative link of the README names a file of the checkout."""
    assert (ROOT / link).is_file()


def test_the_readme_stays_short() -> None:
    """Details belong to the pages of docs/."""
    assert len(README.splitlines()) <= 200
