"""The webhook hears of a failure once, and of the recovery, and never fails a run."""

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.cli.app import call
from ingest.cli.notify import notify_or_warn, notify_verification_or_warn
from ingest.errors import BrokerUnreachableError, IngestError, SettingsError, StoppedError, WriteError
from ingest.names import Subject, Topic
from ingest.report.contract import Outcome
from ingest.report.outcome import RunReport, TableOutcome, failed
from ingest.settings import RunSettings, Secret, Settings, load
from ingest.tables import Subjects, TableConfig
from ingest.verify.result import TableVerification, Verification

NOW = datetime(2026, 11, 22, 3, tzinfo=UTC)
BAD = WriteError("orders", "disk full")
DOWN = BrokerUnreachableError("b:1", "refused")


@attrs.define
class Hook:
    """A webhook on loopback: the bodies that it got, and the status of its next answers."""

    url: str = ""
    status: int = 200
    bodies: list[dict[str, Any]] = attrs.Factory(list)

    def events(self) -> list[tuple[str, list[str]]]:
        """Return event and tables of each message since the last call."""
        events = [(body["event"], [table["table"] for table in body["tables"]]) for body in self.bodies]
        self.bodies.clear()
        return events


@pytest.fixture
def hook() -> Iterator[Hook]:
    """Serve a webhook."""
    hook = Hook()

    class Handler(BaseHTTPRequestHandler):
        """Note each message."""

        def do_POST(self) -> None:
            """Answer with the chosen status."""
            hook.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(hook.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    hook.url = f"http://127.0.0.1:{server.server_port}/s3cret"
    yield hook
    server.shutdown()
    server.server_close()


def settings_for(hook: Hook, folder: Path) -> Settings:
    """Return settings with the webhook, and its state in a folder."""
    return Settings(run=RunSettings(notify=Secret(hook.url), state=folder / "state"))


def run(settings: Settings, **results: IngestError | Outcome) -> None:
    """Report a run: an outcome or an error by table."""
    outcomes = [
        failed(name, Topic(name), result, 1.0)
        if isinstance(result, IngestError)
        else TableOutcome(name, Topic(name), result)
        for name, result in results.items()
    ]
    notify_or_warn(settings, RunReport("r", NOW, NOW, tuple(outcomes)))


def test_a_table_is_reported_when_it_begins_to_fail_and_when_it_recovers(hook: Hook, tmp_path: Path) -> None:
    """Once; again if a person is needed now; a table that a signal stopped keeps its state."""
    settings = settings_for(hook, tmp_path)

    run(settings, orders="committed", lines="idle")
    assert hook.events() == []
    run(settings, orders=BAD, lines=DOWN, items="idle")
    (body,) = hook.bodies
    assert body["text"] == f"ingest: failing: orders, lines: {BAD}"
    assert [table["outcome"] for table in body["tables"]] == ["failed", "temporary"]
    assert (body["outcome"], body["tables"][0]["error"]) == ("failed", str(BAD))
    assert hook.events() == [("failure", ["orders", "lines"])]
    run(settings, orders=BAD, lines=DOWN)
    run(settings, orders=StoppedError("orders", "SIGTERM"))
    assert hook.events() == []
    run(settings, orders="idle", lines=BAD)
    assert {body["tables"][0]["since"][-1] for body in hook.bodies} == {"Z"}
    assert hook.events() == [("failure", ["lines"]), ("recovery", ["orders"])]
    run(settings, lines="committed", orders="committed")
    assert hook.events() == [("recovery", ["lines"])]
    assert list((tmp_path / "state").iterdir()) == []


def test_a_message_that_was_not_delivered_is_sent_by_the_next_run(
    hook: Hook, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The run goes on with a warning, which does not show the URL."""
    settings = settings_for(hook, tmp_path)
    hook.status = 500
    run(settings, orders=BAD)
    warning = capsys.readouterr().err
    assert warning.startswith("ingest: warning: [run] notify: not sent")
    assert "HTTP 500" in warning
    hook.status = 200
    hook.events()
    run(settings, orders=BAD)
    assert hook.events() == [("failure", ["orders"])]

    for url in ("http://127.0.0.1:1/s3cret", "http://[::s3cret"):
        other = attrs.evolve(settings.run, notify=Secret(url))
        run(attrs.evolve(settings, run=other), orders="idle")
    assert "s3cret" not in capsys.readouterr().err
    run(settings, orders="idle")
    assert hook.events() == [("recovery", ["orders"])]


def test_a_run_that_fails_as_a_whole_is_reported(
    hook: Hook, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """For each of its tables, also one with a broken file; the URL comes from a file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hook").write_text(hook.url)
    (tmp_path / "hook").chmod(0o600)
    (tmp_path / "ingest.toml").write_text('[run]\nnotify = { file = "hook" }\n')
    (tmp_path / "tables").mkdir()
    table = tmp_path / "tables" / "orders.toml"
    table.write_text('table = "orders"\ntopic = "t"\ndialect = "sqlserver"\n[subjects]\nvalue = "v"\n')
    monkeypatch.setattr("ingest.cli.run.claim_stdout", lambda: None)  # pytest's own descriptor stays

    assert call(["run"]) == 2, "there is no broker in the settings"
    assert hook.events() == [("failure", ["orders"])]
    assert (tmp_path / ".ingest" / "state" / "orders.json").is_file()
    table.with_name("torn.toml").write_text("half a fi")
    table.unlink()
    assert call(["run"]) == 2
    assert "not TOML" in str(hook.bodies[0])
    assert hook.events() == [("failure", ["torn"])]
    assert hook.url not in capsys.readouterr().err


def test_a_table_that_differs_from_its_source_is_reported_apart_from_runs(hook: Hook, tmp_path: Path) -> None:
    """Once, and when it is equal again; rows in flight say nothing, nor does a run that succeeds."""
    settings = settings_for(hook, tmp_path)
    table = TableConfig("orders", Topic("s.orders"), "postgres", Subjects(value=Subject("s")))
    different = TableVerification("orders", "shop: shop.orders", counts={"missing": 2, "different": 1})
    flying, equal = TableVerification("orders", in_flight=3), TableVerification("orders")

    def verify(answer: TableVerification) -> None:
        notify_verification_or_warn(settings, Verification(NOW, NOW, (answer,)), [table])

    verify(flying)
    assert hook.bodies == []
    verify(different)
    verify(different)
    notify_or_warn(settings, RunReport("r", NOW, NOW, (TableOutcome("orders", Topic("s.orders"), "idle"),)))
    verify(flying)
    assert [body["event"] for body in hook.bodies] == ["failure"]
    assert "differs from source shop: shop.orders: 2 missing, 1 different" in hook.bodies[0]["text"]
    verify(equal)
    assert [body["event"] for body in hook.bodies] == ["failure", "recovery"]


def test_a_url_of_another_kind_is_refused_without_being_shown(tmp_path: Path) -> None:
    """It may be a secret in the wrong place."""
    path = tmp_path / "ingest.toml"
    path.write_text('[run]\nnotify = "s3cret"\n')
    with pytest.raises(SettingsError, match=r"run\.notify: found a text that is not shown") as caught:
        load(path)
    assert "s3cret" not in f"{caught.value} {RunSettings(notify=Secret('http://s3cret'))!r}"
