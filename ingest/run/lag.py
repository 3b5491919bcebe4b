"""What is measured of a table beside what a run did to it: how far behind it is, and what waits."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs


@attrs.frozen
class Measures:
    """A table after a run, also after one that failed; None is what could not be known.

    `lag_offsets` and `lag_s` go by the ends that the topic had when the run began.  The last commit and the
    newest source time are those of the table, whichever run made them.
    """

    commit_s: float | None = None
    """How long this run's commit took, rejects and Hudi's upkeep included."""
    lag_offsets: int | None = None
    lag_s: float | None = None
    committed_at: datetime | None = None
    newest_source_at: datetime | None = None
    open_rejects: int | None = None
    """Counted where metrics are asked for."""

    def to_json(self) -> dict[str, Any]:
        """Return the measures as the report has them."""
        return {
            "commit_seconds": _rounded(self.commit_s),
            "lag_offsets": self.lag_offsets,
            "lag_seconds": _rounded(self.lag_s),
            "last_commit_at": to_iso(self.committed_at),
            "last_source_ts": to_iso(self.newest_source_at),
            "open_rejects": self.open_rejects,
        }


def source_lag_s(newest: datetime | None, lag_offsets: int | None) -> float | None:
    """Return the seconds from the newest change that a table holds until now; none where nothing is left.

    None where no change told its time, or nobody knows what is left.
    """
    if lag_offsets is None or (lag_offsets and newest is None):
        return None
    if not lag_offsets or newest is None:
        return 0.0
    return round(max(0.0, (datetime.now(UTC) - newest).total_seconds()), 1)


def to_moment(millis: int | None) -> datetime | None:
    """Read milliseconds since 1970 (UTC)."""
    return None if millis is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


def to_iso(instant: datetime | None) -> str | None:
    """Return a UTC instant as ISO-8601 with `Z`, milliseconds if it has any."""
    if instant is None:
        return None
    spec = "milliseconds" if instant.microsecond else "seconds"
    return instant.isoformat(timespec=spec).replace("+00:00", "Z")


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 3)
