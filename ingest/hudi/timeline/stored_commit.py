"""A completed commit of a table's timeline, with its time, its account and the files that it wrote."""

from datetime import datetime, timedelta
from typing import Final

import attrs

from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.moments import to_moment
from ingest.names import Instant

_ZONE_STEP: Final = timedelta(minutes=15)
"""Every zone is a multiple of it away from UTC."""


@attrs.frozen
class StoredCommit:
    """A completed commit; `entry` is None for table services and for other writers.

    `operation` is Hudi's name of it, `schema` the table's Avro schema, as JSON.
    """

    instant: Instant
    completed: str
    """The time of completion, in the form and the zone of `instant`."""
    operation: str
    entry: LedgerEntry | None
    schema: str
    files: int
    """The number of data files written."""
    bytes: int

    @property
    def seconds(self) -> float:
        """The time from the request of the commit to its completion."""
        return (_moment(self.completed) - _moment(self.instant)).total_seconds()

    @property
    def read_seconds(self) -> float | None:
        """The time that the run took before the commit, to read and decode; None if unknown."""
        entry = self.entry
        if entry is None or entry.kind != "run" or entry.started_ms is None or entry.committed_ms is None:
            return None
        return max(0, entry.committed_ms - entry.started_ms) / 1000

    @property
    def at(self) -> datetime:
        """The time from which readers see the commit.

        An account knows when its instant was made; that gives the zone of instants, which may be the JVM's.
        """
        completed = _moment(self.completed)
        if self.entry is None or self.entry.committed_ms is None:
            return completed
        ahead = _moment(self.instant) - to_moment(self.entry.committed_ms)
        return completed - round(ahead / _ZONE_STEP) * _ZONE_STEP


def _moment(instant: str) -> datetime:
    """Read an instant as if in UTC; some versions of Hudi leave out the milliseconds."""
    digits = instant[:17].ljust(17, "0")
    date, time = (
        f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}",
        f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}",
    )
    return datetime.fromisoformat(f"{date}T{time}.{digits[14:]}+00:00")  # strptime takes ten times as long
