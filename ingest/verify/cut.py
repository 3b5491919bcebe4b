"""The cut: a position in the source's log, and a table that has passed it."""

import time
from collections.abc import Callable, Mapping
from typing import Final, Literal, Protocol

import attrs

from ingest.errors import SourceRefusedError, TableLockedError
from ingest.hudi.table import HudiTable
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.run.report import TableOutcome
from ingest.settings import KafkaSettings, SourceSettings
from ingest.tables import TableConfig

_POLL_S: Final = 0.5
Following = Literal["run", "wait", "as-is"]
"""How the table follows: brought by runs of ours, by those of others, or not at all."""


class LogReader(Protocol):
    """An open connection to a source, as far as its log goes."""

    @property
    def name(self) -> str:
        """The name of the source in the settings."""
        ...

    @property
    def title(self) -> str:
        """The name of the database."""
        ...

    @property
    def settings(self) -> SourceSettings:
        """The settings of the source."""
        ...

    def is_replica(self) -> bool:
        """Return whether the server is a replica."""
        ...

    def position(self) -> str | None:
        """Return the end of the log, where the database shows it."""
        ...

    def shows_deliveries(self) -> bool:
        """Return whether the database shows how far its connector is."""
        ...

    def delivery(self, position: str) -> str | None:
        """Return `delivered`, `received` (and not confirmed), `pending`, or None without one slot."""
        ...


@attrs.frozen
class Passed:
    """A position; `problem` says why the table may not have passed it."""

    position: str | None
    problem: str = ""
    note: str = ""


@attrs.frozen
class Cut:
    """Takes positions of a source, and waits until a table has passed them."""

    table: TableConfig
    stored: HudiTable
    reader: LogReader
    kafka: KafkaSettings
    following: Following
    bring: Callable[[], TableOutcome]
    """Runs the table once."""
    lake_wait_s: float
    """Seconds to wait for another's run."""

    def check_primary(self) -> str:
        """Refuse a replica, whose rows may be older than the table's; return a note for a table as it is.

        Raises `SourceRefusedError`.
        """
        if not self.reader.is_replica():
            return ""
        problem = f"is a replica, which may lag behind table {self.table.name}"
        if self.following == "as-is":
            return f"source {self.reader.name} {problem}"
        todo = "Name the primary in its url, or compare as it is: --as-is"
        raise SourceRefusedError(self.reader.name, problem, todo)

    def position(self) -> str | None:
        """Return the end of the source's log."""
        return None if self.following == "as-is" else self.reader.position()

    def follow(self) -> str:
        """Bring the table to the ends that its topic has now; return why it did not get there."""
        if self.following == "as-is":
            return ""
        marks = fetch_watermarks(self.kafka, [self.table.topic]).of(self.table.topic)
        ends = {partition: mark.end for partition, mark in marks.items()}
        limit = time.monotonic() + self.lake_wait_s
        while not self._has_read(ends):
            if self.following == "run":
                self._run()
            if self._has_read(ends):
                break
            if time.monotonic() > limit:
                return f"the table did not read its topic within {self.lake_wait_s:g} s"
            time.sleep(_POLL_S)
        return ""

    def passed(self) -> Passed:
        """Take a position, wait for the connector to deliver it, and bring the table behind it."""
        position = self.position()
        problem, note = self._await(position)
        if problem:
            return Passed(position, problem)
        return Passed(position, self.follow(), note)

    def _await(self, position: str | None) -> tuple[str, str]:
        """Wait for a delivery; return the problem, and the note on one that was only granted time."""
        wait_s = self.reader.settings.wait_s
        if self.following == "as-is":
            return "", ""
        if position is None or not self.reader.shows_deliveries():
            time.sleep(wait_s)
            title = self.reader.title
            return "", f"judged {wait_s:g} s after the changes: {title} does not show what is delivered"
        limit, state = time.monotonic() + wait_s, self.reader.delivery(position)
        while state != "delivered" and time.monotonic() < limit:
            time.sleep(_POLL_S)
            state = self.reader.delivery(position)
        if state is None:
            name = self.reader.name
            return f"the database lacks a replication slot, or has several: set sources.{name}.slot", ""
        if state == "pending":
            return f"the connector has not delivered position {position} within {wait_s:g} s", ""
        note = (
            ""
            if state == "delivered"
            else f"the connector received position {position}, and did not confirm it"
        )
        return "", note

    def offsets(self) -> Mapping[Partition, int]:
        """Return the next offsets of the table."""
        last = self.stored.checkpoint()
        return last.next_offsets if last else {}

    def _has_read(self, ends: Mapping[Partition, int]) -> bool:
        self.stored.refresh()
        offsets = self.offsets()
        return all(offsets.get(partition, 0) >= end for partition, end in ends.items())

    def _run(self) -> None:
        outcome = self.bring()
        if outcome.error is not None and not isinstance(outcome.error, TableLockedError):
            raise outcome.error
