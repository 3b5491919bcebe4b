"""Bars of commits as numbers for SVG: the templates only place them."""

from collections.abc import Sequence
from statistics import median
from typing import Final

import attrs

from ingest.operations.status.history import Commit

SPARKS: Final = 24
"""Commits in a sparkline."""
BARS: Final = 60
"""Commits in the chart of a table."""
HEIGHT: Final = 100.0
_SMALLEST: Final = 3.0
"""The height of a bar that is not 0."""
_CUT: Final = 10
"""Bars beyond this multiple of the median are cut: a first load would flatten all others."""


@attrs.frozen
class Bar:
    """The rows of a commit, and the heights of its two parts.  The deleted part lies on top."""

    commit: Commit
    upserted: int
    deleted: int
    upserted_height: float
    deleted_height: float
    is_cut: bool = False


def bars(commits: Sequence[Commit], count: int) -> tuple[Bar, ...]:
    """Return the bars of the newest commits with an account, oldest first.  `commits` are newest first."""
    accounts = [commit for commit in commits if commit.entry is not None][:count]
    rows = [(commit, *_rows(commit)) for commit in reversed(accounts)]
    highest = _highest([upserted + deleted for _, upserted, deleted in rows])
    return tuple(_bar(commit, upserted, deleted, highest) for commit, upserted, deleted in rows)


def _highest(totals: Sequence[int]) -> int:
    """Return the rows of the highest bar that is not cut."""
    present = [total for total in totals if total] or [1]
    return max(total for total in present if total <= _CUT * median(present))


def _bar(commit: Commit, upserted: int, deleted: int, highest: int) -> Bar:
    total = upserted + deleted
    if total <= highest:
        return Bar(commit, upserted, deleted, _height(upserted, highest), _height(deleted, highest))
    return Bar(commit, upserted, deleted, _height(upserted, total), _height(deleted, total), is_cut=True)


def _rows(commit: Commit) -> tuple[int, int]:
    counters = commit.entry.counters if commit.entry else {}
    return counters.get("upserted", 0), counters.get("deleted", 0)


def _height(rows: int, highest: int) -> float:
    return round(max(_SMALLEST, rows * (HEIGHT - _SMALLEST) / highest), 1) if rows else 0.0
