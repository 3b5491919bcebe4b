"""A webhook about tables that begin to fail, and that recover: one POST for each kind, with the outcomes.

The state of a failing table is a file `<table>.json` in a folder of the deployment.  Healthy tables lack a
file.  A table is reported when it begins to fail, when its outcome changes between `failed` and `temporary`,
and when it recovers.  The state changes only after the POST, so the next run repeats a failed POST.
"""

import json
import socket
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal

import attrs
import httpx2

from ingest.errors import StoppedError
from ingest.moments import to_iso
from ingest.names import first_few
from ingest.report.outcome import RunReport, TableOutcome, write_whole

TIMEOUT_S: Final = 10.0
_FAILING: Final = ("failed", "temporary")

Event = Literal["failure", "recovery"]


@attrs.frozen
class Failure:
    """The stored state of a failing table."""

    outcome: str
    since: str


@attrs.frozen
class State:
    """The failing tables of a deployment, as the last run that reported them left them."""

    folder: Path

    def read(self, table: str) -> Failure | None:
        """Return a table's failure, or None for a healthy table.  A damaged file is an unknown failure."""
        try:
            content = json.loads(self._file(table).read_text(encoding="utf-8"))
            return Failure(str(content["outcome"]), str(content["since"]))
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError):
            return Failure("", "")

    def write(self, table: str, failure: Failure | None) -> None:
        """Store a table's state.  Raises OSError."""
        if failure is None:
            self._file(table).unlink(missing_ok=True)
        else:
            write_whole(self._file(table), json.dumps(attrs.asdict(failure)) + "\n")

    def _file(self, table: str) -> Path:
        return self.folder / f"{table}.json"


@attrs.frozen
class Notice:
    """One message: the tables with one event in common."""

    event: Event
    run: RunReport
    tables: tuple[tuple[TableOutcome, str], ...]
    """Each table's outcome, and the time since which it fails or failed."""
    problem: str = ""
    """The error of a run without tables: settings or table files that cannot be read."""

    def to_json(self) -> dict[str, Any]:
        """Return the body: `text` is for people (and for Slack), the rest for programs."""
        return {
            "event": self.event,
            "text": self._text(),
            "run_id": self.run.run_id,
            "host": socket.gethostname(),
            "started_at": to_iso(self.run.started_at),
            "finished_at": to_iso(self.run.finished_at),
            "outcome": "failed" if self.problem else self.run.outcome,
            "error": self.problem or None,
            "tables": [_table_json(outcome, since) for outcome, since in self.tables],
        }

    def _text(self) -> str:
        names = first_few([outcome.table for outcome, _ in self.tables])
        if self.problem:
            return f"ingest: the run failed: {self.problem}"
        if self.event == "recovery":
            return f"ingest: recovered: {names}"
        errors = next((f": {outcome.error}" for outcome, _ in self.tables if outcome.error), "")
        return f"ingest: failing: {names}{errors}"


def _table_json(outcome: TableOutcome, since: str) -> dict[str, Any]:
    return {
        "table": outcome.table,
        "topic": outcome.topic,
        "outcome": outcome.outcome,
        "instant": outcome.instant,
        "read": outcome.counts.read,
        "rejected": outcome.counts.rejected,
        "error": str(outcome.error) if outcome.error else None,
        "since": since or None,
    }


def notices(report: RunReport, state: State) -> Iterator[Notice]:
    """Compare a run with the stored state. A table that a signal stopped keeps its state."""
    failures, recoveries = [], []
    for outcome in report.tables:
        before = state.read(outcome.table)
        if isinstance(outcome.error, StoppedError):
            continue
        if outcome.outcome not in _FAILING:
            recoveries += [(outcome, before.since)] if before else []
        elif before is None or before.outcome != outcome.outcome:
            since = before.since if before else ""
            failures.append((outcome, since or to_iso(datetime.now(UTC).replace(microsecond=0))))
    if failures:
        yield Notice("failure", report, tuple(failures))
    if recoveries:
        yield Notice("recovery", report, tuple(recoveries))


def notify(url: str, messages: Sequence[Notice], state: State) -> None:
    """Send each notice, then store the state of its tables.

    Raises `httpx2.HTTPError`, and OSError for the state or an answer that is not a success.
    """
    for notice in messages:
        answer = httpx2.post(url, json=notice.to_json(), timeout=TIMEOUT_S)
        if not answer.is_success:
            raise OSError(f"HTTP {answer.status_code}")
        for outcome, since in notice.tables:
            failing = Failure(outcome.outcome, since) if notice.event == "failure" else None
            state.write(outcome.table, failing)


def describe(error: Exception) -> str:
    """Describe an exception of `notify`, by its name only if its text may hold a part of the URL."""
    is_safe = isinstance(error, OSError | httpx2.TransportError) and str(error)
    return str(error) if is_safe else type(error).__name__
