"""`ingest signal` as a user has it, without servers."""

import json
from pathlib import Path

import pytest

from ingest.cli.app import call

TABLE = """\
table = "{name}"
topic = "server1.testDB.dbo.{name}"
dialect = "sqlserver"

[subjects]
value = "server1.testDB.dbo.{name}-value"
"""


@pytest.fixture
def tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a deployment of two onboarded tables."""
    monkeypatch.chdir(tmp_path)
    for name in ("SETTINGS", "TABLES", "KAFKA_BOOTSTRAP_SERVERS"):
        monkeypatch.delenv(f"INGEST_{name}", raising=False)
    folder = tmp_path / "tables"
    folder.mkdir()
    for name in ("orders", "items"):
        (folder / f"{name}.toml").write_text(TABLE.format(name=name))
    return folder


@pytest.mark.usefixtures("tables")
def test_only_the_statement_is_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    """It can be piped into the database's client: one line, never folded."""
    line = ["signal", "execute-snapshot", "orders", "items", "--signal-table", "testDB.dbo.signals"]

    assert call([*line, "--condition", "status = 'A'"]) == 0

    shown = capsys.readouterr()
    assert shown.out.startswith("INSERT INTO [testDB].[dbo].[signals] (id, type, data) VALUES ('")
    assert '"data-collections": ["testDB.dbo.orders", "testDB.dbo.items"]' in shown.out
    assert "status = ''A''" in shown.out
    assert shown.out.endswith("');\n")
    assert shown.out.count("\n") == 1
    assert shown.err == ""


@pytest.mark.usefixtures("tables")
def test_every_signal_has_an_id_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """The signal table has it as its key."""
    line = ["signal", "stop-snapshot", "--signal-table", "dbo.signals", "--json"]

    assert [call(line), call(line)] == [0, 0]

    first, second = capsys.readouterr().out.split("}\n{")
    assert json.loads(first + "}")["id"] != json.loads("{" + second)["id"]


@pytest.mark.usefixtures("tables")
def test_a_dry_run_shows_the_message_and_asks_no_broker(capsys: pytest.CaptureFixture[str]) -> None:
    """No broker is set here at all."""
    line = ["signal", "execute-snapshot", "orders", "--type", "blocking", "--kafka", "sig", "--dry-run"]

    assert call([*line, "--json"]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert (shown["topic"], shown["key"], shown["sent"]) == ("sig", "server1", False)
    assert json.loads(shown["value"]) == {
        "id": shown["id"],
        "type": "execute-snapshot",
        "data": {"data-collections": ["testDB.dbo.orders"], "type": "blocking"},
    }


SOURCE = '[sources.{0}]\nurl = "jdbc:sqlserver://db;databaseName=testDB"\n{1}\n'


@pytest.mark.parametrize(
    ("sources", "code", "words"),
    [
        ([("a", 'signal_table = "dbo.signals"')], 0, "INSERT INTO [dbo].[signals]"),
        ([("a", 'signal_topic = "erp-signal"')], 0, "Would send to topic erp-signal, key server1:"),
        ([("a", ""), ("b", 'prefix = "other"\nsignal_table = "x"')], 2, "no destination in [sources]"),
        ([("a", 'signal_table = "x"'), ("b", 'signal_table = "y"')], 2, "several destinations in [sources]"),
        (
            [("a", 'signal_table = "x"'), ("b", 'prefix = "other"\nsignal_table = "y"')],
            0,
            "INSERT INTO [x] ",
        ),
    ],
)
def test_the_settings_of_the_source_name_the_destination(
    sources: list[tuple[str, str]], code: int, words: str, tables: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is sent without --kafka, and an option wins over the settings."""
    (tables.parent / "ingest.toml").write_text("".join(SOURCE.format(*source) for source in sources))
    line = ["signal", "execute-snapshot", "orders"]
    assert call(line) == code
    shown = capsys.readouterr()
    assert words in (shown.err if code else shown.out)
    assert call([*line, "--sql"]) == (0 if "INSERT" in words else 2)  # a topic takes no statement
    capsys.readouterr()
    assert call([*line, "--signal-table", "mine.t"]) == 0
    assert "INSERT INTO [mine].[t]" in capsys.readouterr().out


@pytest.mark.usefixtures("tables")
def test_names_for_several_tables_are_one_flag_each(capsys: pytest.CaptureFixture[str]) -> None:
    """A flag takes one name, so that tables may follow it."""
    line = ["signal", "execute-snapshot", "--collection", "a.b.c", "orders", "--collection", "a.b.d", "items"]

    assert call([*line, "--signal-table", "s"]) == 0

    assert '"data-collections": ["a.b.c", "a.b.d"]' in capsys.readouterr().out


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("execute-snapshot orders", "the signal has no destination in [sources]"),
        ("execute-snapshot orders --kafka t --sql", "--kafka excludes --sql"),
        ("execute-snapshot orders --kafka t --signal-table s", "--kafka excludes --sql"),
        ("execute-snapshot orders --signal-table s --dry-run", "--dry-run needs --kafka"),
        ("execute-snapshot --signal-table s", "needs a table"),
        ("execute-snapshot nobody --signal-table s", "table 'nobody' does not exist"),
        ("execute-snapshot orders --kafka t", "kafka.bootstrap_servers: is not set"),
        ("execute-snapshot orders --signal-table s --type full", "--type"),
    ],
)
def test_a_mistake_leaves_standard_output_empty(
    line: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing that a database's client could read: exit code 2."""
    assert call(["signal", *line.split()]) == 2

    shown = capsys.readouterr()
    assert shown.out == ""
    assert words in shown.err


@pytest.mark.parametrize("command", ["execute-snapshot", "stop-snapshot"])
def test_help_shows_an_example(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """As every command's help does."""
    assert call(["signal", command, "--help"]) == 0

    assert f"Example: ingest signal {command}" in capsys.readouterr().out
