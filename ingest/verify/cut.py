"""The cut: a position in the source's log, and a table that has passed it."""

import time
from collections.abc import Callable, Mapping
from typing import Final, Literal

import attrs

from ingest.errors import SourceRefusedError, TableLockedError
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.report.outcome import TableOutcome
from ingest.settings import KafkaSettings
from ingest.verify.delivery import LogReader, await_delivery
from ingest.verify.lake import LakeRows
from ingest.verify.turn import Turn

_POLL_S: Final = 0.5
Following = Literal["run", "wait", "as-is"]
"""How the table follows its source: by runs that `verify` starts, by other processes' runs, or not at all."""


@attrs.frozen
class Passed:
    """A position, and the `problem` if the table may not have passed it."""

    position: str | None
    problem: str = ""
    note: str = ""


@attrs.frozen
class Cut:
    """Takes positions of a source, and waits until a table has passed them."""

    stored: LakeRows
    reader: LogReader
    kafka: KafkaSettings
    following: Following
    bring: Callable[[], TableOutcome]
    """Runs the table once, and returns the topic's outcome."""
    lake_wait_s: float
    """Seconds to wait for another's run."""
    turn: Turn

    def check_primary(self) -> str:
        """Refuse a replica, because its rows may be older than the table's.

        Return a note instead if the table is compared as it is.  Raises `SourceRefusedError`.
        """
        if not self.reader.is_replica():
            return ""
        problem = f"is a replica, which may lag behind table {self.stored.feed.name}"
        if self.following == "as-is":
            return f"source {self.reader.name} {problem}"
        todo = "Name the primary in its url, or compare as it is: --as-is"
        raise SourceRefusedError(self.reader.name, problem, todo)

    def position(self) -> str | None:
        """Return the end of the source's log."""
        return None if self.following == "as-is" else self.reader.position()

    def follow(self) -> str:
        """Bring the table to the current ends of its topic, and return the reason if it did not get there."""
        if self.following == "as-is":
            return ""
        topic = self.stored.feed.topic
        marks = fetch_watermarks(self.kafka, [topic]).of(topic)
        ends = {partition: mark.end for partition, mark in marks.items()}
        limit = time.monotonic() + self.lake_wait_s
        while not self._has_read(ends):
            if self.following == "run":
                self._run()
            if self._has_read(ends):
                break
            if time.monotonic() > limit:
                return f"the table did not read its topic within {self.lake_wait_s:g} s"
            with self.turn.passed_on():
                time.sleep(_POLL_S)
        return ""

    def passed(self) -> Passed:
        """Take a position, wait for the connector to deliver it, and bring the table behind it."""
        if self.following == "as-is":
            return Passed(None)
        position = self.position()
        with self.turn.passed_on():
            delivery = await_delivery(self.reader, position)
        problem = delivery.problem or self.follow()
        return Passed(position, problem, "" if problem else delivery.note)

    def offsets(self) -> Mapping[Partition, int]:
        """Return the next offsets of the table."""
        return self.stored.next_offsets()

    def _has_read(self, ends: Mapping[Partition, int]) -> bool:
        self.stored.refresh()
        offsets = self.offsets()
        return all(offsets.get(partition, 0) >= end for partition, end in ends.items())

    def _run(self) -> None:
        outcome = self.bring()
        if outcome.error is not None and not isinstance(outcome.error, TableLockedError):
            raise outcome.error
