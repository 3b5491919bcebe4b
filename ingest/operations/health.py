"""A table's health in a word, and the bound that a person sets for its lag."""

import re
from typing import TYPE_CHECKING, Final, Literal

import attrs

from ingest.errors import UsageError

if TYPE_CHECKING:
    from ingest.operations.status import TableStatus

Word = Literal["ok", "behind", "not run yet", "failing"]
_SECONDS: Final = {"s": 1, "m": 60, "min": 60, "h": 3_600, "d": 86_400}
_BOUND: Final = re.compile(rf"(\d+)\s*({'|'.join(_SECONDS)})?", re.ASCII)


@attrs.frozen
class Bound:
    """How far behind a table may be: in offsets, or in seconds of source time."""

    text: str
    offsets: int | None = None
    seconds: int | None = None

    def problem(self, status: "TableStatus") -> str:
        """Say how a table is past the bound; nothing where it is not.

        A lag that nobody knows counts as past it, unless nothing is left to read.
        """
        if self.offsets is not None:
            over = status.lag is None or status.lag > self.offsets
            found = "nobody knows how many offsets" if status.lag is None else f"{status.lag:,} offsets"
        else:
            lag_s, limit = status.source_lag_s, self.seconds or 0
            over = status.lag != 0 and (lag_s is None or lag_s > limit)
            found = "nobody knows how long" if lag_s is None else f"{lag_s:,.0f} s"
        return f"{found} behind, allowed are {self.text}" if over else ""


def parse_bound(text: str) -> Bound:
    """Read `1000` (offsets) or `15m` (source time)."""
    found = _BOUND.fullmatch(text.strip())
    if found is None:
        todo = f"Give offsets (1000), or a duration in {', '.join(_SECONDS)} (15m)"
        raise UsageError(f"--max-lag {text}: is no lag", todo)
    number, unit = int(found[1]), found[2]
    return Bound(text, seconds=number * _SECONDS[unit]) if unit else Bound(text, offsets=number)


def health(status: "TableStatus", bound: Bound | None = None) -> Word:
    """Sum a table up: `failing` where a run would stop, `behind` only past a bound."""
    if status.error:
        return "failing"
    if bound is not None and bound.problem(status):
        return "behind"
    return "ok" if status.last else "not run yet"
