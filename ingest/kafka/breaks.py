"""Recognise a topic that does not continue at a table's offsets, and report the reason."""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from ingest.errors import OffsetError
from ingest.names import Partition, Topic

_READ_AGAIN: Final = (
    "If the new topic begins with a snapshot of the source, read it whole: `{command}`. Before that, raise "
    "`epoch` in the table file if the source was created again too, or gives no order of its own (MongoDB)"
)
_NEW_TABLE: Final = (
    "The table's rows are named by their offsets, which begin again: read this topic into another table"
)
_ACCEPT: Final = (
    "Accept it with `{command}`; a new snapshot (`ingest signal`) brings the table to the source's state"
)


@attrs.frozen
class Watermark:
    """The first offset that a partition still holds, and the end: one past the last committed record.

    `topic_id` is the broker's id of the topic, which changes when it is created again.  Empty if unknown.
    """

    begin: int
    end: int
    topic_id: str = ""


def count_messages(marks: Mapping[Partition, Watermark]) -> int:
    """Count the messages of a topic's partitions, with those that compaction has removed."""
    return sum(mark.end - mark.begin for mark in marks.values())


@attrs.frozen
class Consumed:
    """The offsets of its topic that a table has read.  `next_offsets` is None before its first commit.

    `high_offsets` are the ends of the offsets ever applied.  They are beyond `next_offsets` after a
    deliberate move back.  `topic` is the topic that the last commit read, empty before the first.
    """

    table: str
    next_offsets: Mapping[Partition, int] | None = None
    high_offsets: Mapping[Partition, int] = attrs.Factory(dict)
    topic_id: str = ""
    keeps_all: bool = False
    """Whether every message is a separate row, named by its coordinates in the topic."""
    topic: str = ""
    is_several: bool = False
    """Whether the table has other topics, too."""


@attrs.frozen
class _Break:
    """The problem of one partition, and the number of offsets that are lost."""

    partition: Partition
    problem: str
    lost: int = 0
    is_recreated: bool = False


def check_continues(topic: Topic, consumed: Consumed, watermarks: Mapping[Partition, Watermark]) -> None:
    """Raise `OffsetError` for all partitions that do not continue at the table's offsets."""
    if consumed.next_offsets is None:
        return
    check_topic(topic, consumed)
    if is_created_again(consumed.topic_id, watermarks):
        raise _created_again(topic, consumed, watermarks)
    breaks = tuple(_breaks(consumed, watermarks))
    if not breaks:
        return
    first, *further = breaks
    problems = [first.problem, *(f"{topic}-{part.partition}: {part.problem}" for part in further)]
    if further:
        problems.append(f"{sum(part.lost for part in breaks):,} offsets are gone in all")
    raise OffsetError(topic, first.partition, "; ".join(problems), _todo(consumed, breaks))


def check_topic(topic: Topic, consumed: Consumed) -> None:
    """Raise `OffsetError` if the table file names another topic than the one that the table has read."""
    if consumed.topic in ("", topic):
        return
    offsets = consumed.next_offsets or {}
    raise OffsetError(
        topic,
        min(offsets, default=Partition(0)),
        f"table {consumed.table} holds the rows of topic {consumed.topic}, read up to "
        f"{offsets_text(offsets)}; its table file now names topic {topic}. Two topics in one table would mix "
        "their rows and offsets",
        f'Set topic = "{consumed.topic}" in {consumed.table}.toml again, and read topic {topic} into a table '
        f"of its own: `ingest onboard {topic}`, with --name if the name is taken",
    )


def is_created_again(topic_id: str, watermarks: Mapping[Partition, Watermark]) -> bool:
    """Return whether the broker's id of the topic differs from the one in the table's last commit."""
    current = topic_id_of(watermarks)
    return bool(topic_id and current) and current != topic_id


def topic_id_of(watermarks: Mapping[Partition, Watermark]) -> str:
    """Return the broker's id of the topic, or an empty text if it is unknown."""
    return next((mark.topic_id for mark in watermarks.values()), "")


def _created_again(
    topic: Topic, consumed: Consumed, watermarks: Mapping[Partition, Watermark]
) -> OffsetError:
    problem = (
        f"the topic was deleted and created again: its id was {consumed.topic_id}, and is "
        f"{topic_id_of(watermarks)}. The table has read the old one up to "
        f"{offsets_text(consumed.next_offsets or {})}; unread messages of the old topic are lost, "
        "their number is unknown. The new one holds "
        + ", ".join(f"{partition}: {_range(mark)}" for partition, mark in sorted(watermarks.items()))
    )
    first = _Break(min(watermarks, default=Partition(0)), problem, is_recreated=True)
    return OffsetError(topic, first.partition, problem, _todo(consumed, (first,)))


def _breaks(consumed: Consumed, watermarks: Mapping[Partition, Watermark]) -> Iterator[_Break]:
    offsets = consumed.next_offsets or {}
    for partition in sorted(offsets.keys() - watermarks.keys()):
        problem = (
            f"the table has read up to offset {offsets[partition]}, but the topic has only "
            f"{len(watermarks)} partitions: it was created again"
        )
        yield _Break(partition, problem, offsets[partition], is_recreated=True)
    for partition, mark in sorted(watermarks.items()):
        # A partition that was added after the last commit began with offset 0.
        start = offsets.get(partition, 0)
        if start < mark.begin:
            is_new = partition not in offsets
            yield _Break(partition, _deleted(start, mark, is_new=is_new), mark.begin - start)
        elif start > mark.end:
            cause = "truncated" if consumed.topic_id else "created again, or truncated"
            problem = (
                f"the table has read up to offset {start}, but the topic ends at {mark.end}: it was {cause}; "
                f"{start - mark.end} offsets ({mark.end} to {start - 1}) are not in it any more"
            )
            yield _Break(partition, problem, start - mark.end, is_recreated=not consumed.topic_id)


def _deleted(start: int, mark: Watermark, *, is_new: bool) -> str:
    added = "the partition was added, and " if is_new else ""
    return (
        f"{added}{mark.begin - start} offsets ({start} to {mark.begin - 1}) were deleted from the topic "
        f"before they were read; it now holds {_range(mark)}"
    )


def _todo(consumed: Consumed, breaks: tuple[_Break, ...]) -> str:
    """Return the very command that accepts the loss."""
    is_recreated = any(part.is_recreated for part in breaks)
    if is_recreated and consumed.keeps_all:
        return _NEW_TABLE
    to = "earliest" if is_recreated else ",".join(f"{part.partition}=earliest" for part in breaks)
    option = f" --topic {consumed.topic}" if consumed.is_several else ""
    command = f"ingest offsets set {consumed.table} --to {to}{option}"
    return (_READ_AGAIN if is_recreated else _ACCEPT).format(command=command)


def _range(mark: Watermark) -> str:
    return f"offsets {mark.begin} to {mark.end - 1}" if mark.end > mark.begin else "nothing"


def offsets_text(offsets: Mapping[Partition, int]) -> str:
    """Write offsets as `ingest offsets set` takes them."""
    return ",".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
