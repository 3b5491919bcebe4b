"""Decide which offsets of a topic a run covers: from what the table holds to the end seen at the start."""

from collections.abc import Mapping
from typing import Final

import attrs

from ingest.errors import OffsetError, UsageError
from ingest.names import Partition, Topic

_CREATED_ANEW: Final = (
    "If the new topic begins with a snapshot of the source, read it whole with "
    "`ingest offsets set TABLE --to earliest`; if the source was created anew too, raise `epoch` "
    "in the table file first"
)


@attrs.frozen
class Watermark:
    """The first offset that a partition still holds, and the end: one past the last committed record."""

    begin: int
    end: int


@attrs.frozen
class OffsetRange:
    """The offsets from `start` to before `end` of one partition; not every offset has a record."""

    topic: Topic
    partition: Partition
    start: int
    end: int


@attrs.frozen
class TopicRanges:
    """What one run covers: one range a partition, empty ones included, ascending."""

    topic: Topic
    ranges: tuple[OffsetRange, ...]

    @property
    def is_empty(self) -> bool:
        """Tell whether there is nothing to read."""
        return self.span == 0

    @property
    def span(self) -> int:
        """Count the offsets: an upper bound of the records."""
        return sum(one.end - one.start for one in self.ranges)

    def spans(self) -> dict[Partition, tuple[int, int]]:
        """Give first offset and exclusive end of each partition."""
        return {one.partition: (one.start, one.end) for one in self.ranges}

    def start_offsets(self) -> dict[Partition, int]:
        """Give the first offset of each partition."""
        return {one.partition: one.start for one in self.ranges}

    def end_offsets(self) -> dict[Partition, int]:
        """Give the exclusive end of each partition: where the next run goes on."""
        return {one.partition: one.end for one in self.ranges}


def plan_ranges(
    topic: Topic,
    committed: Mapping[Partition, int] | None,
    high: Mapping[Partition, int],
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None = None,
) -> TopicRanges:
    """Cover what is new: from the committed offsets, or the beginning, to the ends.

    `max_offsets` bounds the sum over the partitions, shared evenly; a short partition leaves its rest to the
    others.  It gives way to `high`, the ends of what was ever applied: after a deliberate move back, one run
    replays at least up to there, so that the table never shows a state older than it did.

    Raises `OffsetError` when committed offsets are gone from the topic or lie behind its end.
    """
    if max_offsets is not None and max_offsets < 1:
        raise UsageError(f"--max-offsets {max_offsets}: must be at least 1")
    starts = _starts(topic, committed or {}, watermarks)
    floors = {
        partition: max(start, min(high.get(partition, 0), watermarks[partition].end))
        for partition, start in starts.items()
    }
    rest = {partition: watermarks[partition].end - floor for partition, floor in floors.items()}
    if max_offsets is not None:
        replayed = sum(floors.values()) - sum(starts.values())
        rest = _share(max(0, max_offsets - replayed), rest)
    return TopicRanges(
        topic,
        tuple(OffsetRange(topic, p, start, floors[p] + rest[p]) for p, start in starts.items()),
    )


def _starts(
    topic: Topic, committed: Mapping[Partition, int], watermarks: Mapping[Partition, Watermark]
) -> dict[Partition, int]:
    """Start each partition at its committed offset, a new one at its beginning."""
    for partition in sorted(committed.keys() - watermarks.keys()):
        raise OffsetError(
            topic,
            partition,
            f"the table has read up to offset {committed[partition]}, but the topic has only "
            f"{len(watermarks)} partitions: it was created anew",
            _CREATED_ANEW,
        )
    starts: dict[Partition, int] = {}
    for partition, seen in sorted(watermarks.items()):
        starts[partition] = committed.get(partition, seen.begin)
        _check_start(topic, partition, starts[partition], seen)
    return starts


def _check_start(topic: Topic, partition: Partition, start: int, seen: Watermark) -> None:
    if start < seen.begin:
        raise OffsetError(
            topic,
            partition,
            f"{seen.begin - start} offsets ({start} to {seen.begin - 1}) were deleted from the topic "
            f"before they were read; it now begins at {seen.begin}",
            "Accept the loss with `ingest offsets set TABLE --to earliest`, or load the table anew",
        )
    if start > seen.end:
        raise OffsetError(
            topic,
            partition,
            f"the table has read up to offset {start}, but the topic ends at {seen.end}: "
            "it was created anew or truncated",
            _CREATED_ANEW,
        )


def _share(budget: int, wanted: Mapping[Partition, int]) -> dict[Partition, int]:
    """Share a budget evenly; who wants less than an even share leaves the rest to the others."""
    shares: dict[Partition, int] = {}
    for left, partition in zip(
        range(len(wanted), 0, -1), sorted(wanted, key=lambda p: (wanted[p], p)), strict=True
    ):
        shares[partition] = min(wanted[partition], budget // left)
        budget -= shares[partition]
    return shares
