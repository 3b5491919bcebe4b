"""A table's health in a word, and the limit of its lag."""

from typing import TYPE_CHECKING, Literal

import attrs

from ingest.errors import UsageError
from ingest.moments import DURATIONS, parse_duration

if TYPE_CHECKING:
    from ingest.operations.status.status import TableStatus

Word = Literal["ok", "behind", "not run yet", "failing"]


@attrs.frozen
class Bound:
    """How far behind a table may be: in offsets, or in seconds of source time."""

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
            lag = "lag unknown" if lag_s is None else f"{lag_s:,.0f} s behind"
        return f"{lag}, limit is {self.text}" if over else ""


def parse_bound(text: str) -> Bound:
    """Read `1000` (offsets) or `15m` (source time)."""
    if text.isascii() and text.strip().isdecimal():
        return Bound(text, offsets=int(text))
    seconds = parse_duration(text)
    if seconds is None:
        raise UsageError(f"--max-lag {text}: not a valid lag", f"Give offsets (1000), or {DURATIONS}")
    return Bound(text, seconds=seconds)


def health(status: "TableStatus", bound: Bound | None = None) -> Word:
    """Return a table's health: `failing` if a run would fail, `behind` only beyond a bound."""
    if status.error:
        return "failing"
    if bound is not None and bound.problem(status):
        return "behind"
    return "ok" if status.last else "not run yet"
