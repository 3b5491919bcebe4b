"""Measures of a table after a run: lag, newest commit, open rejects."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TypeVar

import attrs

from ingest.report.contract import TableMetrics

V = TypeVar("V")


@attrs.frozen
class Measures:
    """A table's measures after a run, also after a failed one. An unknown value is None.

    `lag_s` is the age of the oldest unread message.  `lag_offsets` and `lag_s` refer to the ends that the
    topic had when the run began.  The last commit and
    the newest source time belong to the table, also when an earlier run made them.
    """

    commit_s: float | None = None
    """The time of this run's commit, with its rejects."""
    lag_offsets: int | None = None
    lag_s: float | None = None
    committed_at: datetime | None = None
    newest_source_at: datetime | None = None
    open_rejects: int | None = None
    """Counted only if the settings ask for metrics."""

    def report(self, read_bytes: int) -> TableMetrics:
        """Return the measures as the report has them."""
        return TableMetrics(
            read_bytes,
            _rounded(self.commit_s),
            self.lag_offsets,
            _rounded(self.lag_s),
            self.committed_at,
            self.newest_source_at,
            self.open_rejects,
        )


def of_topics(measures: Sequence[Measures]) -> Measures:
    """Return the measures of a table of several topics: sums, and the longest lag."""
    commits_s = present(measure.commit_s for measure in measures)
    return Measures(
        commit_s=sum(commits_s) if commits_s else None,
        lag_offsets=sum_or_none(measure.lag_offsets for measure in measures),
        lag_s=max_or_none(measure.lag_s for measure in measures),
        committed_at=max(present(measure.committed_at for measure in measures), default=None),
        newest_source_at=max(present(measure.newest_source_at for measure in measures), default=None),
        open_rejects=sum_or_none(measure.open_rejects for measure in measures),
    )


def present(values: Iterable[V | None]) -> list[V]:
    """Return the values that are known."""
    return [value for value in values if value is not None]


def sum_or_none(values: Iterable[int | None]) -> int | None:
    """Return the sum, or None if a value is unknown."""
    numbers = list(values)
    return None if None in numbers else sum(present(numbers))


def max_or_none(values: Iterable[float | None]) -> float | None:
    """Return the largest value, or None if a value is unknown or without values."""
    numbers = list(values)
    return None if None in numbers else max(present(numbers), default=None)


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
