"""Logging: JSON lines away from a terminal, lines for people on one, secrets on neither."""

import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from ingest import log


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


@pytest.fixture(autouse=True)
def untouched() -> Iterator[None]:
    """Give the process its logging back."""
    handlers = logging.getLogger().handlers[:]
    yield
    logging.getLogger().handlers[:] = handlers
    logging.getLogger("ingest").setLevel(logging.NOTSET)
    structlog.reset_defaults()


def test_away_from_a_terminal_each_line_is_json() -> None:
    """With event, level, logger, time and the values given."""
    out = io.StringIO()
    log.configure("info", stream=out)
    log.logger("ingest.run").info("committed", table="t", rows=5)
    line = json.loads(out.getvalue())
    assert line.pop("timestamp").endswith("Z")
    assert line == {
        "event": "committed",
        "level": "info",
        "logger": "ingest.run",
        "table": "t",
        "rows": 5,
    }


def test_a_terminal_gets_lines_for_people() -> None:
    """No JSON there, and a traceback without local variables."""
    out = Terminal()
    log.configure("info", secrets=["geheim"], stream=out)
    try:
        hidden = "geheim"
        raise ValueError(hidden)  # noqa: TRY301 - the traceback is the point
    except ValueError:
        log.logger("ingest.run").exception("failed", table="t")
    assert "failed" in out.getvalue()
    assert "ValueError: ***" in out.getvalue()
    assert "geheim" not in out.getvalue()


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_secrets_show_neither_in_values_nor_in_exceptions(stream: io.StringIO) -> None:
    """However deep they lie, in other libraries' lines too."""
    log.configure("debug", secrets=["geheim"], stream=stream)
    logger = log.logger("ingest.run")
    logger.info("geheim", a={"geheim": ["xgeheimx", ("geheim",)]}, path=Path("/geheim"), n=None)
    logging.getLogger("other").error("says %s", "geheim")
    assert "geheim" not in stream.getvalue()
    assert stream.getvalue().count("***") >= 5


def test_the_level_is_ours_and_others_only_warn() -> None:
    """Below the level nothing is written; HTTP libraries' notes on every request are not wanted."""
    out = io.StringIO()
    log.configure("info", stream=out)
    log.logger("ingest.run").debug("no")
    logging.getLogger("httpx2").info("no")
    logging.getLogger("other").info("no")
    assert out.getvalue() == ""


def test_configuring_again_replaces_the_first_set_up() -> None:
    """No line is written twice."""
    first, second = io.StringIO(), io.StringIO()
    log.configure("info", stream=first)
    log.configure("info", stream=second)
    log.logger("ingest.run").info("once")
    assert first.getvalue() == ""
    assert second.getvalue().count("once") == 1


def test_a_line_goes_through_a_spinner_that_replaced_stderr(monkeypatch: pytest.MonkeyPatch) -> None:
    """The spinner moves such a line above itself; written past it, the line would run into the spinner."""
    log.configure("info")
    spinner = io.StringIO()
    monkeypatch.setattr("sys.stderr", spinner)
    log.logger("ingest.run").info("interrupted")
    assert "interrupted" in spinner.getvalue()


def test_unconfigured_it_writes_to_the_applications_own_logging(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library prints nothing by itself."""
    structlog.reset_defaults()
    log.logger("ingest.run").warning("late", table="t")
    assert [record.getMessage() for record in caplog.records] == ["late"]
    assert capsys.readouterr().out == ""
