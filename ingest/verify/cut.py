"""The cut: a position in the source's log, and a table that has passed it."""

import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

import attrs

from ingest.errors import SourceRefusedError, TableLockedError
from ingest.hudi.table import HudiTable
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.run.report import TableOutcome
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig
from ingest.verify.jdbc import Connection

_POLL_S: Final = 0.5
Following = Literal["run", "wait", "as-is"]
"""How the table follows: brought by runs of ours, by those of others, or not at all."""


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
    kafka: KafkaSettings
    following: Following
    bring: Callable[[], TableOutcome]
    """Runs the table once."""
    lake_wait_s: float
    """Seconds to wait for another's run."""

    def check_primary(self, connection: Connection) -> str:
        """Refuse a replica, whose rows may be older than the table's; return a note for a table as it is.

        Raises `SourceRefusedError`.
        """
        query = connection.source.database.replica
        if query is None or connection.value(query) != "true":
            return ""
        problem = f"is a replica, which may lag behind table {self.table.name}"
        if self.following == "as-is":
            return f"source {connection.source.name} {problem}"
        todo = "Name the primary in its url, or compare as it is: --as-is"
        raise SourceRefusedError(connection.source.name, problem, todo)

    def position(self, connection: Connection) -> str | None:
        """Return the end of the source's log."""
        query = connection.source.database.position
        return None if query is None or self.following == "as-is" else connection.value(query)

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

    def passed(self, connection: Connection) -> Passed:
        """Take a position, wait for the connector to deliver it, and bring the table behind it."""
        position = self.position(connection)
        problem, note = self._await(connection, position)
        if problem:
            return Passed(position, problem)
        return Passed(position, self.follow(), note)

    def _await(self, connection: Connection, position: str | None) -> tuple[str, str]:
        """Wait for a delivery; return the problem, and the note on one that was only granted time."""
        source, wait_s = connection.source.settings, connection.source.settings.wait_s
        if self.following == "as-is":
            return "", ""
        query, database = connection.source.database.delivered, connection.source.database
        if query is None or position is None:
            time.sleep(wait_s)
            return (
                "",
                f"judged {wait_s:g} s after the changes: {database.title} does not show what is delivered",
            )
        filled = query.of(position=database.literal(position), slot=database.literal(source.slot))
        limit, state = time.monotonic() + wait_s, connection.value(filled)
        while state != "delivered" and time.monotonic() < limit:
            time.sleep(_POLL_S)
            state = connection.value(filled)
        if state is None:
            name = connection.source.name
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
