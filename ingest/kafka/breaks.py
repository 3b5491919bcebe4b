"""Recognise a topic that does not go on from what a table has read, and say what happened to it."""

from collections.abc import Iterator, Mapping
from typing import Final

import attrs

from ingest.errors import OffsetError
from ingest.names import Partition, Topic

_READ_ANEW: Final = (
    "If this one begins with a snapshot of the source, read it whole: `{command}`; before that raise "
    "`epoch` in the table file if the source was created anew too, or gives no order of its own (MongoDB)"
)
_NEW_TABLE: Final = (
    "The table's rows are named by their offsets, which begin again: read this topic into another table"
)
_ACCEPT: Final = (
    "Accept it with `{command}`; a new snapshot (`ingest signal`) brings the table to what the source holds"
)


@attrs.frozen
class Watermark:
    """The first offset that a partition still holds, and the end: one past the last committed record.

    `topic_id` is the broker's id of the topic, another one when it is created anew; empty where unknown.
    """

    begin: int
    end: int
    topic_id: str = ""


@attrs.frozen
class Consumed:
    """What a table has read of its topic; `next_offsets` is None before its first commit.

    `high_offsets` are the ends of what was ever applied: beyond `next_offsets` after a deliberate move back.
    """

    table: str
    next_offsets: Mapping[Partition, int] | None = None
    high_offsets: Mapping[Partition, int] = attrs.Factory(dict)
    topic_id: str = ""
    keeps_all: bool = False
    """Whether every message is a row of its own, named by its place in the topic."""


@attrs.frozen
class _Break:
    """What is wrong with one partition, how many offsets are gone, and where it can go on."""

    partition: Partition
    problem: str
    gone: int = 0
    is_anew: bool = False


def check_continues(topic: Topic, consumed: Consumed, watermarks: Mapping[Partition, Watermark]) -> None:
    """Raise `OffsetError`, for all partitions that do not go on where the table stopped."""
    if consumed.next_offsets is None:
        return
    if is_created_anew(consumed.topic_id, watermarks):
        raise _created_anew(topic, consumed, watermarks)
    found = tuple(_breaks(consumed, watermarks))
    if not found:
        return
    first, *others = found
    told = [first.problem, *(f"{topic}-{one.partition}: {one.problem}" for one in others)]
    if others:
        told.append(f"{sum(one.gone for one in found):,} offsets are gone in all")
    raise OffsetError(topic, first.partition, "; ".join(told), _todo(consumed, found))


def is_created_anew(topic_id: str, watermarks: Mapping[Partition, Watermark]) -> bool:
    """Tell whether the broker's id of the topic is another one than the table knows."""
    now = topic_id_of(watermarks)
    return bool(topic_id and now) and now != topic_id


def topic_id_of(watermarks: Mapping[Partition, Watermark]) -> str:
    """Return the broker's id of the topic; empty where it has none."""
    return next((mark.topic_id for mark in watermarks.values()), "")


def _created_anew(topic: Topic, consumed: Consumed, watermarks: Mapping[Partition, Watermark]) -> OffsetError:
    read = consumed.next_offsets or {}
    problem = (
        f"the topic was deleted and created anew: its id was {consumed.topic_id}, and is "
        f"{topic_id_of(watermarks)}. The table has read the old one up to "
        f"{_text(read)}; what it had not read there is gone, nobody can tell how much. The new one holds "
        + ", ".join(f"{partition}: {_held(mark)}" for partition, mark in sorted(watermarks.items()))
    )
    found = (_Break(min(watermarks, default=Partition(0)), problem, is_anew=True),)
    return OffsetError(topic, found[0].partition, problem, _todo(consumed, found))


def _breaks(consumed: Consumed, watermarks: Mapping[Partition, Watermark]) -> Iterator[_Break]:
    read = consumed.next_offsets or {}
    for partition in sorted(read.keys() - watermarks.keys()):
        problem = (
            f"the table has read up to offset {read[partition]}, but the topic has only "
            f"{len(watermarks)} partitions: it was created anew"
        )
        yield _Break(partition, problem, read[partition], is_anew=True)
    for partition, mark in sorted(watermarks.items()):
        # A partition that was added later began with offset 0 then.
        start = read.get(partition, 0)
        if start < mark.begin:
            yield _Break(partition, _deleted(start, mark, is_new=partition not in read), mark.begin - start)
        elif start > mark.end:
            what = "truncated" if consumed.topic_id else "created anew, or truncated"
            problem = (
                f"the table has read up to offset {start}, but the topic ends at {mark.end}: it was {what}; "
                f"{start - mark.end} offsets ({mark.end} to {start - 1}) are not in it any more"
            )
            yield _Break(partition, problem, start - mark.end, is_anew=not consumed.topic_id)


def _deleted(start: int, mark: Watermark, *, is_new: bool) -> str:
    added = "the partition was added, and " if is_new else ""
    return (
        f"{added}{mark.begin - start} offsets ({start} to {mark.begin - 1}) were deleted from the topic "
        f"before they were read; it now holds {_held(mark)}"
    )


def _todo(consumed: Consumed, found: tuple[_Break, ...]) -> str:
    """Give the very command that accepts what happened."""
    is_anew = any(one.is_anew for one in found)
    if is_anew and consumed.keeps_all:
        return _NEW_TABLE
    to = "earliest" if is_anew else ",".join(f"{one.partition}=earliest" for one in found)
    command = f"ingest offsets set {consumed.table} --to {to}"
    return (_READ_ANEW if is_anew else _ACCEPT).format(command=command)


def _held(mark: Watermark) -> str:
    return f"offsets {mark.begin} to {mark.end - 1}" if mark.end > mark.begin else "nothing"


def _text(offsets: Mapping[Partition, int]) -> str:
    return ",".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
