"""A table's health: its state in a word, the reason, and the exit code. The one rule of all outputs."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

import attrs

from ingest.errors import PermanentError, RetryableError, UsageError
from ingest.moments import DURATIONS, parse_duration, to_millis, write_duration

if TYPE_CHECKING:
    from ingest.operations.status.status import TableStatus

State = Literal[
    "failing", "different", "temporary", "unknown", "silent", "behind", "rejects", "not run yet", "ok"
]
STATES: Final[dict[State, str]] = {
    "failing": "The last run failed, or the next one would, until the cause is fixed.",
    "different": "The last verification proved that rows differ from the source.",
    "temporary": "The last run failed for a reason that may pass: run again.",
    "unknown": "The broker, the registry or the files did not answer.",
    "silent": "The connector has sent nothing for longer than the limit.",
    "behind": "The oldest unread message is older than the limit, or more are unread than allowed.",
    "rejects": "Up to date, with open rejects.",
    "not run yet": "Without a commit so far.",
    "ok": "The last run passed, and the next one would.",
}
"""Every state and its meaning, the worst first."""


@attrs.frozen
class Health:
    """A table's state.  `reason` is empty for the states that need no action now."""

    state: State
    reason: str = ""
    exit_code: int = 0


@attrs.frozen
class Bound:
    """How far behind a table may be: in unread offsets, or in seconds that the oldest of them has waited."""

    text: str
    offsets: int | None = None
    seconds: float | None = None

    def problem(self, status: "TableStatus") -> str:
        """Describe how far a table is beyond the bound, empty if it is not.

        An unknown lag is beyond every bound, unless no message is pending.
        """
        if self.offsets is not None:
            over = status.lag is None or status.lag > self.offsets
            lag = "lag unknown" if status.lag is None else f"{status.lag:,} offsets behind"
        else:
            lag_s, limit = status.source_lag_s, self.seconds or 0
            over = status.lag != 0 and (lag_s is None or lag_s > limit)
            lag = "lag unknown" if lag_s is None else f"{write_duration(lag_s)} behind"
        return f"{lag}, limit is {self.text}" if over else ""


def parse_bound(text: str) -> Bound:
    """Read `1000` (offsets) or `15m` (age of the oldest unread message)."""
    if text.isascii() and text.strip().isdecimal():
        return Bound(text, offsets=int(text))
    seconds = parse_duration(text)
    if seconds is None:
        raise UsageError(f"--max-lag {text}: not a valid lag", f"Give offsets (1000), or {DURATIONS}")
    return Bound(write_duration(seconds), seconds=seconds)


def health(status: "TableStatus", bound: Bound | None = None) -> Health:
    """Return a table's health, the worst state that holds.  A `bound` overrides the table's own limit."""
    return _failure(status) or _doubt(status) or _delay(status, bound) or Health(_quiet(status))


def _failure(status: "TableStatus") -> Health | None:
    """Return the health of a table that fails now, failed in its last run, or fails at the next version."""
    error, ahead, failed = status.error, status.ahead, last_failure(status)
    if error is not None and not isinstance(error, RetryableError):
        return Health("failing", str(error), error.exit_code)
    if failed is not None and failed.state == "failing":
        return failed
    if ahead is not None:
        return Health("failing", f"the next message of the newest version fails: {ahead}", ahead.exit_code)
    return None


def _doubt(status: "TableStatus") -> Health | None:
    """Return the health of a table that differs, failed for a reason that may pass, or is not known."""
    verification, unknown = status.verification, str(status.error or status.unclear)
    if verification is not None and verification.outcome == "different":
        return Health("different", verification.summary(), PermanentError.exit_code)
    failed = last_failure(status)
    return failed or (Health("unknown", unknown, RetryableError.exit_code) if unknown else None)


def _delay(status: "TableStatus", bound: Bound | None) -> Health | None:
    """Return the health of a table whose connector is silent, or which is beyond its bound."""
    if status.connector is not None and (silence := status.connector.problem()):
        return Health("silent", silence, PermanentError.exit_code)
    if bound is None and status.max_behind_s:
        bound = Bound(write_duration(status.max_behind_s), seconds=status.max_behind_s)
    problem = bound.problem(status) if bound is not None else ""
    return Health("behind", problem, PermanentError.exit_code) if problem else None


def _quiet(status: "TableStatus") -> State:
    """Return the state of a table that needs no action now."""
    if status.rejects:
        return "rejects"
    return "ok" if status.last else "not run yet"


def last_failure(status: "TableStatus") -> Health | None:
    """Return the health of a table whose last run failed, unless a later commit shows that it works again."""
    run = status.last_run
    if run is None or not run.is_failure:
        return None
    committed_ms = status.last.committed_ms if status.last else None
    if committed_ms is not None and committed_ms > to_millis(run.finished_at):
        return None
    reason = f"the run of {write_duration((datetime.now(UTC) - run.finished_at).total_seconds())} ago failed"
    return Health(
        "failing" if run.outcome == "failed" else "temporary",
        f"{reason}: {run.error or run.outcome}",
        run.exit_code or PermanentError.exit_code,
    )
