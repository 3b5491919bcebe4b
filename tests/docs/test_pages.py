"""The pages of docs/ are current, and the commands, files and code that they show work."""

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import attrs
import pytest

from ingest import errors, settings
from ingest.cli.app import app, call
from ingest.errors import IngestError
from ingest.tables import read_all

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(
    [
        *DOCS.glob("*.md"),
        *DOCS.glob("words/*.md"),
        *DOCS.glob("sources/*.md"),
        DOCS / "reference" / "python.md",
        DOCS / "reference" / "errors.md",
        *ROOT.glob("docker/*.md"),
    ]
)

spec = spec_from_file_location("pages", DOCS / "pages.py")
assert spec is not None
assert spec.loader is not None
pages = module_from_spec(spec)
spec.loader.exec_module(pages)

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^(?:\$ )?(?:ingest|(?:.* )?\S*__main__\.py) (.+)$", re.MULTILINE)
TABLE = 'table = "t"\ntopic = "t"\ndialect = "sqlserver"\n'
SETTINGS = {
    "registry",
    "kafka",
    "lake",
    "run",
    "spark",
    "lineage",
    "iceberg",
    "masking",
    "sources",
    "defaults",
    "freshness",
    "onboard",
}
"""Sections of the settings.  Table files have `freshness`, too."""
SUBJECTS = '[subjects]\nvalue = "t-value"\n'


def blocks(*languages: str) -> list[tuple[str, str]]:
    """Return the code blocks in these languages, each with its page."""
    return [
        (page.name, text)
        for page in PAGES
        for language, text in _BLOCK.findall(page.read_text("utf-8"))
        if language in languages
    ]


def commands() -> list[tuple[str, str]]:
    """Return the `ingest` commands of the pages, each with its page."""
    shown = [(name, text.replace("\\\n", " ")) for name, text in blocks("sh", "console")]
    return sorted(
        {(name, line.partition(" #")[0].strip()) for name, text in shown for line in _COMMAND.findall(text)}
    )


@pytest.mark.parametrize("name", sorted(pages.PAGES))
def test_a_generated_page_is_current(name: str) -> None:
    """Keys, defaults, errors and commands match the code; `make golden` writes the page."""
    assert (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8") == pages.PAGES[name]()


@pytest.mark.parametrize("name", ["settings", "table-file"])
def test_expert_keys_come_last_and_are_marked(name: str) -> None:
    """A reader of a section stops at the first mark."""
    sections = (DOCS / "reference" / f"{name}.md").read_text(encoding="utf-8").split("\n## ")
    marks = [
        re.findall(r"^\| `\w+` \|.*\| (\*\*Expert\.\*\*)?[^|]*\|$", text, re.MULTILINE) for text in sections
    ]
    assert any(marked[-1:] == ["**Expert.**"] for marked in marks)
    assert all(marked == sorted(marked) for marked in marks)


def test_every_error_has_an_entry() -> None:
    """Each error class is there once, under its exit code: message, remedy, and what to type when on call."""
    page = (DOCS / "reference" / "errors.md").read_text(encoding="utf-8")
    entries = re.split(r"^## Exit code (\d+)$", page, flags=re.MULTILINE)[1:]
    entry = (
        r"(?ms)^### `(\w+)`\n\n[^#]+?```text\n[^#]+?\n```\n\n\*\*What to do\.\*\* \w[^#]+?"
        r"\*\*On call: (?:now|morning|wait)\.\*\* \w[^#]+?```console\n\$ "
    )
    by_code = {
        name: int(code)
        for code, text in zip(entries[::2], entries[1::2], strict=True)
        for name in re.findall(entry, text)
    }
    raised = {
        name: error.exit_code
        for name, error in vars(errors).items()
        if isinstance(error, type) and issubclass(error, IngestError) and attrs.has(error)
    }
    assert len(raised) > 20
    assert by_code == raised


@pytest.mark.parametrize("command", [pytest.param(line, id=f"{page}: {line}") for page, line in commands()])
def test_a_command_that_is_shown_parses(command: str) -> None:
    """The command line accepts its flags and arguments."""
    app.parse_args(shlex.split(command), print_error=False, exit_on_error=False)


def test_the_search_finds_the_commands() -> None:
    """The parametrized test covers commands over several lines and behind spark-submit."""
    assert {page for page, _ in commands()} >= {"onboarding.md", "schema-changes.md", "cluster.md", "runs.md"}


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=f"{page}-{i}") for i, (page, text) in enumerate(blocks("toml"))]
)
def test_shown_files_are_valid(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings and table files, whole or in part: every key is known, every value allowed."""
    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    keys = set(tomllib.loads(text))
    if keys <= SETTINGS:
        (tmp_path / "ingest.toml").write_text(text, encoding="utf-8")
        assert settings.load(tmp_path / "ingest.toml").source
        return
    table = TABLE.replace('topic = "t"\n', "") if "topics" in keys else TABLE
    whole = text if "table" in keys else f"{table}{text}\n{'' if 'subjects' in keys else SUBJECTS}"
    (tmp_path / "shown.toml").write_text(whole, encoding="utf-8")
    assert len(read_all(tmp_path)) == 1


@pytest.mark.parametrize(
    ("row", "column"),
    [("ingest", 0), ("a PySpark job written by hand, same day", 1), ("the rows decoded beforehand", 3)],
)
def test_figures_are_quoted_as_measured(row: str, column: int) -> None:
    """docs/why.md rounds the first load of docs/performance.md, which `make bench-peers` prints."""
    measured = (DOCS / "performance.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^\| 1,000,000 events into an empty COW table \|(.*)$", measured, re.MULTILINE)
    cpu, wall = (round(float(figure)) for figure in line.split("|")[column].split("/"))
    quoted = (DOCS / "why.md").read_text(encoding="utf-8")
    assert re.search(rf"^\| {re.escape(row)}[^|]* \| {cpu} \| {wall} \|", quoted, re.MULTILINE)


@pytest.mark.parametrize(
    "text", [pytest.param(text, id=f"{page}-{i}") for i, (page, text) in enumerate(blocks("python"))]
)
def test_shown_python_compiles(text: str) -> None:
    """Every Python block is valid syntax."""
    compile(text, "page", "exec")


@pytest.mark.parametrize(("page", "count"), [("onboarding.md", 5), ("tables.md", 1)])
def test_a_page_shows_the_output_of_its_commands(
    page: str,
    count: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each command of the page runs in order, in the page's folder; `…` matches omitted lines."""
    (tmp_path / "registry_fixtures").symlink_to(ROOT / "registry_fixtures")
    tour = tmp_path / ".ingest" / "tour"
    tour.mkdir(parents=True)
    monkeypatch.chdir(tour)
    shown = [pair for name, text in blocks("console") if name == page for pair in _typed(text)]
    assert len(shown) == count
    for command, output in shown:
        assert call(shlex.split(command)) == 0
        pattern = "".join(r"(?:.*\n)*" if line == "…" else f"{re.escape(line)}\n" for line in output)
        assert re.fullmatch(pattern, _trimmed(capsys.readouterr().out)), command


def _typed(block: str) -> Iterator[tuple[str, list[str]]]:
    for part in block.split("$ ingest ")[1:]:
        command, *lines = part.rstrip("\n").split("\n")
        yield command, lines


def _trimmed(text: str) -> str:
    return "".join(f"{line.rstrip()}\n" for line in text.rstrip("\n").split("\n"))
