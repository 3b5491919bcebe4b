"""Decide which offsets of a topic a run covers: from the table's checkpoint to the end at the start."""

from collections.abc import Mapping

import attrs

from ingest.errors import UsageError
from ingest.kafka.breaks import Consumed, Watermark, check_continues, topic_id_of
from ingest.names import Partition, Topic


@attrs.frozen
class OffsetRange:
    """The offsets from `start` to before `end` of one partition.  Not every offset has a record."""

    topic: Topic
    partition: Partition
    start: int
    end: int


@attrs.frozen
class TopicRanges:
    """The ranges of one run: one for each partition, empty ones included, ascending."""

    topic: Topic
    ranges: tuple[OffsetRange, ...]
    topic_id: str = ""
    """The broker's id of the topic, empty if it does not give one."""

    @property
    def is_empty(self) -> bool:
        """Return whether the run has nothing to read."""
        return self.span == 0

    @property
    def span(self) -> int:
        """Return the number of offsets: an upper bound of the records."""
        return sum(part.end - part.start for part in self.ranges)

    def first(self, offsets: int, floors: Mapping[Partition, int]) -> "TopicRanges":
        """Return the first offsets, one partition after the other.  No partition ends before its floor."""
        cut: list[OffsetRange] = []
        for part in self.ranges:
            end = min(part.end, max(part.start + offsets, floors.get(part.partition, 0)))
            offsets = max(0, offsets - (end - part.start))
            cut.append(attrs.evolve(part, end=end))
        return attrs.evolve(self, ranges=tuple(cut))

    def spans(self) -> dict[Partition, tuple[int, int]]:
        """Return first offset and exclusive end of each partition."""
        return {part.partition: (part.start, part.end) for part in self.ranges}

    def start_offsets(self) -> dict[Partition, int]:
        """Return the first offset of each partition."""
        return {part.partition: part.start for part in self.ranges}

    def end_offsets(self) -> dict[Partition, int]:
        """Return the exclusive end of each partition: the next run starts there."""
        return {part.partition: part.end for part in self.ranges}


def plan_ranges(
    topic: Topic,
    consumed: Consumed,
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None = None,
) -> TopicRanges:
    """Cover the new offsets: from the committed ones, or the beginning, to the ends.

    `max_offsets` bounds the sum over the partitions, shared evenly.  A short partition leaves its rest to the
    others.  The ends of all offsets ever applied take precedence: after a deliberate move back, one run
    replays at least up to there, so that the table never shows an older state than before.

    Raises `OffsetError` when the topic does not continue from the committed offsets.
    """
    if max_offsets is not None and max_offsets < 1:
        raise UsageError(f"--max-offsets {max_offsets}: must be at least 1")
    check_continues(topic, consumed, watermarks)
    read, high = consumed.next_offsets or {}, consumed.high_offsets
    starts = {partition: read.get(partition, mark.begin) for partition, mark in sorted(watermarks.items())}
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
        topic_id_of(watermarks),
    )


def _share(budget: int, requests: Mapping[Partition, int]) -> dict[Partition, int]:
    """Share a budget evenly.  A request for less than an even share leaves its rest to the others."""
    shares: dict[Partition, int] = {}
    for count, partition in zip(
        range(len(requests), 0, -1), sorted(requests, key=lambda p: (requests[p], p)), strict=True
    ):
        shares[partition] = min(requests[partition], budget // count)
        budget -= shares[partition]
    return shares
