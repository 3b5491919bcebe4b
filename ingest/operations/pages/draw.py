"""Bars of commits as numbers for SVG: the templates only place them."""

from collections.abc import Sequence
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


@attrs.frozen
class Bar:
    """The rows of a commit, and the heights of its two parts.  The deleted part lies on top."""

    commit: Commit
    upserted: int
    deleted: int
    upserted_height: float
    deleted_height: float


def bars(commits: Sequence[Commit], count: int) -> tuple[Bar, ...]:
    """Return the bars of the newest commits with an account, oldest first.  `commits` are newest first."""
    accounts = [commit for commit in commits if commit.entry is not None][:count]
    pairs = [(commit, *_rows(commit)) for commit in reversed(accounts)]
    highest = max((upserted + deleted for _, upserted, deleted in pairs), default=0) or 1
    return tuple(
        Bar(commit, upserted, deleted, _height(upserted, highest), _height(deleted, highest))
        for commit, upserted, deleted in pairs
    )


def _rows(commit: Commit) -> tuple[int, int]:
    counters = commit.entry.counters if commit.entry else {}
    return counters.get("upserted", 0), counters.get("deleted", 0)


def _height(rows: int, highest: int) -> float:
    return round(max(_SMALLEST, rows * (HEIGHT - _SMALLEST) / highest), 1) if rows else 0.0
