"""The blocks of a page, run as a person types them."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import attrs

DOCS = Path(__file__).parents[2] / "docs"
REGISTRY, BROKER = "http://127.0.0.1:22533/apis/ccompat/v7", "127.0.0.1:22002"
"""The addresses that the pages show."""
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_MEASURED = re.compile(r"\b(?:\d+\\\.\d|\d{17})\b")


def read_blocks(page: str, heading: str) -> list[tuple[str, str]]:
    """Return the code blocks of the section with a heading: language and text."""
    text = (DOCS / page).read_text(encoding="utf-8")
    sections = re.findall(rf"^## (?:\d+\. )?{heading}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return [block for section in sections for block in _BLOCK.findall(section)]


def read_block(page: str, heading: str, language: str, number: int = 0) -> str:
    """Return one code block of a section."""
    return [text for name, text in read_blocks(page, heading) if name == language][number]


@attrs.frozen
class Shell:
    """A folder to type in, and the addresses that stand for those of the page."""

    folder: Path
    registry_url: str
    bootstrap_servers: str

    def local(self, text: str) -> str:
        """Put the addresses and ports of this machine in place of the page's."""
        for shown, own in ((REGISTRY, self.registry_url), (BROKER, self.bootstrap_servers)):
            text = text.replace(shown, own).replace(_port(shown), _port(own))
        return text

    def check(self, console: str) -> None:
        """Run each command of a block and compare its output, if the page shows any.

        `…` stands for lines left out; times and instants differ, and with them the columns' widths.
        """
        for part in self.local(console).split("$ ingest ")[1:]:
            command, *expected = part.rstrip("\n").split("\n")
            output = run_ingest(self.folder, command)
            sys.stdout.write(f"$ ingest {command}\n{output}")  # to paste into the page: pytest -s
            pattern = r"\n".join(r"(?s:.*?)" if line == "…" else _pattern(line) for line in expected)
            matches = not expected or re.fullmatch(pattern, _squeezed(output))
            assert matches, f"ingest {command}\n{output}"


def run_ingest(folder: Path, command: str) -> str:
    """Run a command and return its output."""
    done = subprocess.run(
        [sys.executable, "-m", "ingest", *shlex.split(command, comments=True)],
        cwd=folder, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0, f"ingest {command}\n{done.stderr}"
    return done.stdout


def _port(address: str) -> str:
    (port,) = re.findall(r":(\d+)", address)
    return port


def _pattern(line: str) -> str:
    return _MEASURED.sub(r"[0-9.]+", re.escape(_squeezed(line)))


def _squeezed(text: str) -> str:
    lines = [re.sub(r"─+", "─", re.sub(r" +", " ", line)).strip() for line in text.split("\n")]
    return "\n".join(lines).strip("\n")
