"""Tables that run out of memory: they read half as much at the next try, down to the one large record.

A table keeps the size that fits until it has read everything, but for a try of twice as much after some
commits.  The limits are kept in the state folder, so that a later run begins with them.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

from ingest.kafka.ranges import TopicRanges
from ingest.log import logger
from ingest.names import Partition
from ingest.report.outcome import write_whole
from ingest.tables import Feed, TableConfig

_STEADY: Final = 8
"""The commits after which a table tries to read twice as much: the messages may be smaller now."""


@attrs.frozen
class ReadLimit:
    """How many `offsets` a table may read at a time, and the `commits` of so many since it fell or rose.

    With a `record` the table ran out of memory over it alone.  Without offsets it is rejected unread.
    `skipped` counts such records.
    """

    offsets: int
    commits: int = 0
    skipped: int = 0
    record: str = ""


@attrs.frozen
class _Reading:
    """The ranges that a table is reading, of one topic."""

    feed: Feed
    ranges: TopicRanges


@attrs.define(eq=False)
class ReadLimits:
    """The limits of the tables of a run.  A table without one reads all there is."""

    folder: Path
    _limits: dict[str, ReadLimit | None] = attrs.field(factory=dict, init=False)
    _reading: dict[str, _Reading] = attrs.field(factory=dict, init=False)
    _records: dict[str, str] = attrs.field(factory=dict, init=False)
    _skipped: dict[str, int] = attrs.field(factory=dict, init=False)

    def of(self, feed: Feed) -> ReadLimit | None:
        """Return the limit of a table, if it has one."""
        file = self._file(feed)
        if file.name not in self._limits:
            self._limits[file.name] = _read(file)
        return self._limits[file.name]

    def cut(self, feed: Feed, ranges: TopicRanges, high_offsets: Mapping[Partition, int]) -> TopicRanges:
        """Return the first offsets of ranges, as many as a table may read, and up to those applied before.

        A record to skip that is not the first one any more, as after a move of the offsets, is forgotten.
        """
        limit = self.of(feed)
        if limit and not limit.offsets and (ranges.is_empty or _name(ranges) != limit.record):
            self._set(feed, None)
            return ranges
        return ranges if limit is None else ranges.first(max(1, limit.offsets), high_offsets)

    def begin(self, feed: Feed, ranges: TopicRanges) -> None:
        """Note what a table is going to read."""
        self._records.pop(feed.name, None)
        self._reading[feed.name] = _Reading(feed, ranges)

    def end(self, feed: Feed) -> None:
        """Note that a table has committed what it read, or has nothing to read: then it has no limit."""
        limit, reading = self.of(feed), self._reading.pop(feed.name, None)
        if limit is None:
            return
        skipped = self._count_skipped(feed) + (limit.offsets == 0)
        self._skipped[self._file(feed).name] = skipped
        if reading is None or limit.record:  # which is past now, and may have been the only cause
            self._set(feed, None)
        elif limit.commits + 1 < _STEADY:
            self._set(feed, ReadLimit(limit.offsets, limit.commits + 1, skipped))
        else:
            self._set(feed, ReadLimit(2 * limit.offsets, 0, skipped))

    def lower(self, table: TableConfig, *, is_alone: bool = True) -> bool:
        """Lower the limit of a table that ran out of memory, and tell whether to try again.

        False if it was not reading or could not read less, or if the record that is left must not be skipped:
        the table file forbids it, or as many were skipped as a run may reject at least, so that the heap is
        too small for the table.  Neither is skipped while other tables use the heap.
        """
        reading = self._reading.pop(table.name, None)
        if reading is None:
            return False
        feed, span, limit = reading.feed, reading.ranges.span, self.of(reading.feed)
        skipped = self._count_skipped(feed)
        if span > 1:
            self._set(feed, ReadLimit(span // 2, 0, skipped))
            return limit is None or span <= limit.offsets
        record = _name(reading.ranges)
        self._records[table.name] = f"reading {record}, a single record"
        rejects = table.rejects
        skips = is_alone and rejects.too_large == "reject" and skipped < rejects.allowed(0)
        self._set(feed, ReadLimit(0 if skips else 1, 0, skipped, record))
        return skips

    def step(self, table: TableConfig) -> str:
        """Name the one record over which a table ran out of memory, as a step, or empty for several."""
        return self._records.get(table.name, "")

    def _count_skipped(self, feed: Feed) -> int:
        """Return how many records this run has skipped, or the one that kept the limit."""
        limit = self.of(feed)
        return max(self._skipped.get(self._file(feed).name, 0), limit.skipped if limit else 0)

    def _set(self, feed: Feed, limit: ReadLimit | None) -> None:
        file = self._file(feed)
        self._limits[file.name] = limit
        try:
            if limit is None:
                file.unlink(missing_ok=True)
            else:
                write_whole(file, json.dumps(attrs.asdict(limit)) + "\n")
        except OSError as error:
            logger(__name__).warning("the limit of a table was not kept", table=feed.name, error=str(error))

    def _file(self, feed: Feed) -> Path:
        return self.folder / f"{feed.label}.json"


def _name(ranges: TopicRanges) -> str:
    """Name the first record of ranges by its coordinates."""
    part = next(part for part in ranges.ranges if part.start < part.end)
    return f"{part.topic}-{part.partition} offset {part.start}"


def _read(file: Path) -> ReadLimit | None:
    try:
        return ReadLimit(**json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
