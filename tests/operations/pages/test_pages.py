"""The pages of a lake: whole, safe and complete, without a JVM, a broker or a browser."""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest import Session
from ingest.cli.app import COMMANDS, call
from ingest.compile.diff import SchemaChange
from ingest.errors import LakeError, UsageError
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.kafka.breaks import Watermark
from ingest.names import Instant, Partition, SchemaId, Subject, Topic, page_name
from ingest.operations.pages.render import SCRIPT, Renderer, Site
from ingest.operations.rejects.rejects import Reject
from ingest.operations.rejects.rejects_view import StoredRejects
from ingest.operations.status.health import STATES
from ingest.operations.status.history import Commit
from ingest.operations.status.last_verification import LastVerification, write_last
from ingest.operations.status.overview import Gap, LakeOverview, TableOverview
from ingest.operations.status.schema_history import ColumnFacts, TableChange, VersionChange
from ingest.operations.status.status import TableStatus
from ingest.report.kept_runs import LastRun
from ingest.tables import Subjects, TableConfig
from tests.lakes import MadeDeployment
from tests.operations.pages.html import Parsed
from tests.operations.pages.lake import HOSTILE, make_lake

NOW = datetime(2026, 11, 22, 9, 0, tzinfo=UTC)
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
SECRETS = ("correct horse battery staple", "s3cr3t&<token>", "pa'ss\"word")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the lake in trouble, and write its pages."""
    deployment = make_lake(tmp_path_factory.mktemp("site") / "deployment")
    write(deployment, deployment.root / "pages")
    return deployment.root / "pages"


def write(deployment: MadeDeployment, folder: Path, **options: object) -> LakeOverview:
    """Write the pages in a session that cannot start Spark."""
    with Session.open(deployment.root / "ingest.toml", overrides={"spark.master": "nowhere"}) as session:
        return session.report_html(folder, **options)  # type: ignore[arg-type]


def page(file: Path) -> Parsed:
    """Parse a page."""
    return Parsed(file.read_text(encoding="utf-8"))


def pages(site: Path) -> list[Path]:
    """List the pages of a site."""
    return sorted(site.rglob("*.html"))


# --- a lake in trouble -----------------------------------------------------------------------------


def test_the_index_shows_all_tables_the_worst_first(site: Path) -> None:
    """A table file that is not one is among them, without a page; no table is well without a broker."""
    index = page(site / "index.html")
    names = [cell.text for cell in index.all("div", class_="title")]
    groups = [row.text.split()[0] for row in index.all("tr", class_="source")]
    states = [
        badge.text for badge in index.all("span") if badge.attributes.get("class", "").startswith("state")
    ]
    states = states[-len(names) :]

    assert groups == ["other", "server1", "sqs"]
    assert dict(zip(names, states, strict=True)) == {
        "broken": "failing", "changed": "failing", "lost": "failing", "damaged": "unknown",
        "customers": "unknown", "fresh": "unknown", "hostile": "unknown",
    }  # fmt: skip
    assert sorted(states[1:-1], key=list(STATES).index) == states[1:-1]
    assert "Kafka 127.0.0.1:9" in "".join(panel.text for panel in index.all("div", class_="panel"))


def test_every_link_leads_to_a_page_and_back(site: Path) -> None:
    """Links are relative: the folder may be moved, or put on any server."""
    for file in pages(site):
        for link in page(file).all("a"):
            target = link.attributes["href"]
            assert target == "#content" or (file.parent / target).is_file(), (file.name, target)


def test_no_page_needs_script_or_network(site: Path) -> None:
    """All is inside, and the browser is told to load nothing, and to run nothing but the search."""
    for file in pages(site):
        parsed = page(file)
        script = "".join(element.text for element in parsed.all("script"))
        assert script == (SCRIPT if file.name == "index.html" else "")
        assert not {"iframe", "object", "embed", "form", "img", "base"} & set(parsed.tags)
        assert [link.attributes["href"] for link in parsed.all("link")] == ["data:,"]
        assert "url(" not in file.read_text()
        assert "@import" not in file.read_text()
        (policy,) = parsed.all("meta", http_equiv="Content-Security-Policy")
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed = f"; script-src 'sha256-{digest}'" if script else ""
        assert policy.attributes["content"] == f"{POLICY}{allowed}"
        assert not [e for e in parsed.elements if any(name.startswith("on") for name in e.attributes)]


def test_every_page_has_a_title_headings_and_labels(site: Path) -> None:
    """Ids are unique, and labels name an id of the page."""
    for file in pages(site):
        parsed = page(file)
        ids = [element.attributes["id"] for element in parsed.elements if "id" in element.attributes]
        labels = [
            e.attributes["aria-labelledby"] for e in parsed.elements if "aria-labelledby" in e.attributes
        ]
        assert len(parsed.all("h1")) == 1
        assert all(element.text.strip() for tag in ("title", "h1", "h2") for element in parsed.all(tag))
        assert len(set(ids)) == len(ids)
        assert set(labels) <= set(ids)
        assert all("aria-label" in drawing.attributes for drawing in parsed.all("svg"))


def test_a_table_has_its_commits_columns_schemas_and_rejects(site: Path) -> None:
    """From its files and the registry."""
    parsed = page(site / "table" / "customers.html")
    text = parsed.all("main")[0].text
    headings = [heading.text for heading in parsed.all("h2")]

    assert headings == ["What to do", "Commits", "Schema history", "Columns", "Offsets", "Rejects", "Storage"]
    assert len(parsed.all("rect", class_="upserted")) >= 38
    assert "io.debezium.time.NanoTimestamp" in text
    assert "digits below 1 µs" in text
    assert "ingest rejects list customers" in text
    assert "those of the last 3 commits stay" in text
    assert "≤ 7" in text
    assert {"added", "changed"} <= {row.attributes.get("class") for row in parsed.all("tr")}
    assert "column-added" in text


def test_a_table_shows_its_last_verification(tmp_path: Path, deployment: MadeDeployment) -> None:
    """When, how, and what differs by column; a table that was never compared has no such section."""
    for name in ("t", "never"):
        deployment.table(name).commit(1)
    verification = LastVerification(
        finished_at=NOW, outcome="different", mode="checksums", source="shop: shop.public.t",
        position="0/1A2B", scope=("a sample of 1 %",), source_rows=1_234, table_rows=1_230,
        counts={"missing": 4, "different": 30}, columns={"price": 30}, uncompared={"geo": "a struct"},
    )  # fmt: skip
    write_last(deployment.root / ".ingest" / "state", "t", verification)
    write(deployment, tmp_path / "www")
    text = page(tmp_path / "www" / "table" / "t.html").all("main")[0].text
    for part in (
        "2026-11-22 09:00",
        "different",
        "0/1A2B",
        "1,234",
        "1,200",
        "price",
        "a sample of 1 %",
        "a struct",
    ):
        assert part in text
    assert "Verification" not in page(tmp_path / "www" / "table" / "never.html").all("main")[0].text


def test_a_damaged_table_shows_the_rest_and_its_reason(site: Path) -> None:
    """The rows still count; the commits cannot be read."""
    text = page(site / "table" / "damaged.html").all("main")[0].text
    assert "1,002" in text
    assert "cannot be read" in text
    assert "ingest status damaged" in text


def test_every_command_on_a_page_is_one_of_ours(site: Path) -> None:
    """A reader types it as it is."""
    commands = {
        code.text for file in pages(site) for code in page(file).all("code") if "ingest " in code.text
    }
    assert {command.split()[1] for command in commands} <= {
        name for group in COMMANDS.values() for name in group
    }
    assert "ingest plan changed" in commands


def test_hostile_texts_stay_text(site: Path) -> None:
    """Markup, scripts and escape sequences in a note, a run id and a column; 10,000 characters too."""
    content = (site / "table" / "hostile.html").read_text()
    parsed = Parsed(content)
    assert "<script" not in content
    assert "\x1b" not in content
    assert "\u202e" not in content
    assert "alert(1)" in parsed.all("main")[0].text
    assert "x" * 10_000 in parsed.all("main")[0].text
    assert "10,000 characters" in parsed.all("main")[0].text


def test_pages_of_tables_that_are_gone_are_removed_and_other_files_stay(
    tmp_path: Path, deployment: MadeDeployment
) -> None:
    """The folder may be one of a web server."""
    for name in ("first", "second"):
        deployment.table(name).commit(1)
    folder = tmp_path / "www"
    write(deployment, folder)
    (folder / "table" / "mine.html").write_text("<p>mine</p>")
    (deployment.root / "tables" / "second.toml").unlink()
    write(deployment, folder)

    assert {file.name for file in (folder / "table").iterdir()} == {"first.html", "mine.html"}


def test_an_unusable_folder_is_an_error(tmp_path: Path, deployment: MadeDeployment) -> None:
    """A file of that name, say."""
    deployment.table("t").commit(1)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="cannot be written"):
        write(deployment, tmp_path / "file")


def test_the_command_line_writes_pages_and_counts_states(deployment: MadeDeployment) -> None:
    """Without Java and registry; without a setting for the broker a run would fail."""
    deployment.table("t").commit(1)
    command = [sys.executable, "-m", "ingest"]
    options = {"cwd": deployment.root, "capture_output": True, "text": True, "env": {"PATH": "", "HOME": "/"}}
    options["env"] |= {"PYTHONPATH": str(Path(__file__).parents[3])}  # type: ignore[operator]
    pages = subprocess.run([*command, "pages", "--to", "www", "--json"], check=True, **options)  # type: ignore[call-overload]

    assert json.loads(pages.stdout) == {"index": "www/index.html", "tables": 1, "states": {"failing": 1}}
    assert (deployment.root / "www" / "table" / "t.html").is_file()


def test_a_folder_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    """The command line names the option that is missing."""
    assert call(["pages"]) == 2
    assert "--to" in capsys.readouterr().err


# --- any text, any secret --------------------------------------------------------------------------


def overview(text: str) -> TableOverview:
    """Return an overview with a text wherever one of another origin can be."""
    entry = LedgerEntry(
        text, Topic(text), {Partition(0): 5}, {Partition(0): 5}, (SchemaId(1),), {"read": 1, "upserted": 1},
        note=text, instant=Instant("20261122080000000"), committed_ms=1_795_334_400_000,
    )  # fmt: skip
    stored = StoredCommit(
        text, Instant("20261122080000000"), "20261122080001000", "UPSERT", commit_metadata(entry),
        (WrittenFile("20261122080000000", text, text, 9),),
    )  # fmt: skip
    commit = Commit(stored, {Partition(0): 1})
    reject = Reject(
        text, 0, 3, NOW, None, text, text, text, NOW, None, None, key=text.encode("utf-8", "replace")
    )
    table = attrs.evolve(
        TableConfig("t", Topic("t"), "sqlserver", Subjects(value=Subject("s"))),
        hudi={"hoodie.clean.commits.retained": text},
    )
    error = LakeError(text, text, f"Run `ingest run {text}`")
    last_run = LastRun(text, NOW, NOW, "failed", text, 1)
    verification = LastVerification(
        finished_at=NOW, outcome=text, mode=text, source=text, position=text, scope=(text,),
        columns={text: 1}, uncompared={text: text}, note=text, failed_at=NOW, error=text,
    )  # fmt: skip
    types = ((text, text, None), (text, None, text), (text, text, text))
    return TableOverview(
        TableStatus(
            "t", Topic(text), text, entry, 4, 7, error=error, last_run=last_run, verification=verification
        ),
        table,
        (commit, Commit(attrs.evolve(stored, values={}, operation=text))),
        has_archive=True,
        ends={Partition(0): Watermark(0, 9)},
        rejects=StoredRejects(3, 2, {text: 2}, {text: (reject,)}),
        columns=(ColumnFacts(text, text, text, text, text, text),),
        table_changes=(TableChange(commit, types),) * 2,
        version_changes=(
            VersionChange(2, SchemaId(1), (SchemaChange("column-added", text, text, text),)),
            VersionChange(1, SchemaId(1), problem=text),
        ),
        gaps=(Gap(text, text),),
    )  # fmt: skip


def rendered(text: str, secrets: tuple[str, ...] = ()) -> tuple[str, str]:
    """Render index and table page with a text everywhere."""
    renderer = Renderer(Site(text, text, text, NOW, secrets))
    shown = overview(text)
    return renderer.index(LakeOverview((shown,), (text,))), renderer.table(shown)


def structure(text: str) -> list[list[str]]:
    """Return the elements of both pages."""
    return [Parsed(content).tags for content in rendered(text)]


SHORT_TEXTS = st.text(
    st.characters() | st.sampled_from("<>&\"'`={}%\x1b\x00\u202e\ud800 "), min_size=1, max_size=9
)


@given(SHORT_TEXTS.filter(lambda text: not text.startswith(" ") and "`" not in text))
def test_no_text_changes_the_structure_of_a_page(text: str) -> None:
    """Whatever a registry, a broker, a user or a message wrote: the elements are those of a plain word."""
    assert structure(text) == structure("plain")


@given(st.sampled_from(SECRETS), st.text(max_size=20), st.integers(0, 400))
def test_no_secret_is_on_any_page(secret: str, around: str, length: int) -> None:
    """Wherever a text has it, also where it is cut after its first characters."""
    text = f"{around}{'x' * length}{secret}{around}{'y' * 400}"
    plain = Parsed(rendered("plain")[1]).tags
    for content in rendered(text, SECRETS):
        parsed = Parsed(content)
        everything = content + parsed.elements[0].text + "".join(
            value for element in parsed.elements for value in element.attributes.values()
        )  # fmt: skip
        assert secret not in everything
        assert secret[:10] not in everything
    assert plain


def test_hostile_fields_of_every_kind_are_shown_as_text() -> None:
    """The example that a person would try first."""
    for content in rendered(HOSTILE):
        assert "<script" not in content.replace(f"<script>{SCRIPT}</script>", "")
        assert "&lt;script&gt;alert(1)" in content


@given(st.text(max_size=300))
def test_any_name_gives_one_plain_file_name(name: str) -> None:
    """Short, and without a path in it."""
    assert set(page_name(name)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")
    assert len(page_name(name)) <= 105


# --- many tables -----------------------------------------------------------------------------------


def test_a_thousand_tables_take_seconds(tmp_path: Path, deployment: MadeDeployment) -> None:
    """Copies of one table with four commits; the registry is a folder."""
    table = deployment.table("table_0000")
    for number in range(4):
        table.commit(116 + number)
    text = (deployment.root / "tables" / "table_0000.toml").read_text()
    for number in range(1, 1_000):
        name = f"table_{number:04}"
        (deployment.root / "tables" / f"{name}.toml").write_text(text.replace("table_0000", name))
        shutil.copytree(table.folder, table.folder.with_name(name))

    begin = time.process_time()
    lake = write(deployment, tmp_path / "www")
    seconds = time.process_time() - begin

    assert len(lake.tables) == 1_000
    assert {overview.status.rows for overview in lake.tables} == {119}
    assert len(list((tmp_path / "www" / "table").iterdir())) == 1_000
    assert seconds < 30, seconds  # 6 s on the machine where it was written
