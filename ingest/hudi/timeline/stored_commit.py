"""A completed commit of a table's timeline, with its time, its account and the files that it wrote."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from typing import Final

import attrs

from ingest.hudi.timeline.ledger import LedgerEntry, entry_of
from ingest.moments import to_moment
from ingest.names import Instant

_ZONE_STEP: Final = timedelta(minutes=15)
"""Every zone is a multiple of it away from UTC."""


@attrs.frozen(order=True)
class WrittenFile:
    """A file that a commit wrote.  `path` is relative to the table."""

    instant: str
    file_group: str
    path: str
    size: int

    @property
    def is_log(self) -> bool:
        """Whether it holds changes of a base file."""
        return self.path.rpartition("/")[2].startswith(".")


def _in_order(files: Iterable[WrittenFile]) -> tuple[WrittenFile, ...]:
    return tuple(sorted(files))


@attrs.frozen
class StoredCommit:
    """A completed commit of the table at a path.  `operation` is Hudi's name of it."""

    path: str
    instant: Instant
    completed: str
    """The time of completion, in the form and the zone of `instant`."""
    operation: str
    values: Mapping[str, str]
    """The texts that its writer added: the account, the table's schema, the checkpoints of other writers."""
    files: tuple[WrittenFile, ...] = attrs.field(converter=_in_order)
    replaced: tuple[str, ...] = ()
    """The file groups that it replaced."""

    @cached_property
    def entry(self) -> LedgerEntry | None:
        """The account, or None for table services and other writers.  Raises LakeError for a newer format."""
        return entry_of(self.path, self.instant, self.operation, self.values)

    @property
    def schema(self) -> str:
        """The table's Avro schema, as JSON, or empty if unknown."""
        return self.values.get("schema") or ""

    @property
    def bytes(self) -> int:
        """The size of the data files written."""
        return sum(file.size for file in self.files)

    @property
    def seconds(self) -> float:
        """The time from the request of the commit to its completion."""
        return (_moment(self.completed) - _moment(self.instant)).total_seconds()

    @property
    def read_seconds(self) -> float | None:
        """The time that the run took before the commit, to read and decode, or None if unknown."""
        entry = self.entry
        if entry is None or entry.kind != "run" or entry.started_ms is None or entry.committed_ms is None:
            return None
        return max(0, entry.committed_ms - entry.started_ms) / 1000

    @property
    def at(self) -> datetime:
        """The time from which readers see the commit.

        An account knows when its instant was made.  That gives the zone of instants, which may be the JVM's.
        """
        completed = _moment(self.completed)
        if self.entry is None or self.entry.committed_ms is None:
            return completed
        ahead = _moment(self.instant) - to_moment(self.entry.committed_ms)
        return completed - round(ahead / _ZONE_STEP) * _ZONE_STEP


def _moment(instant: str) -> datetime:
    """Read an instant as if in UTC.  Some versions of Hudi leave out the milliseconds."""
    digits = instant[:17].ljust(17, "0")
    date, time = (
        f"{digits[:4]}-{digits[4:6]}-{digits[6:8]}",
        f"{digits[8:10]}:{digits[10:12]}:{digits[12:14]}",
    )
    return datetime.fromisoformat(f"{date}T{time}.{digits[14:]}+00:00")  # strptime takes ten times as long
