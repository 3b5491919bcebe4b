"""The messages of a topic around a position of its source: which follow it, and which are lost.

A table that is loaded at a position needs every later change.  So the topic must begin at or before the
position, and no later message may lie before the offsets that the table starts from.
"""

from collections.abc import Iterator
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.adopt.first_commit import Subject
from ingest.adopt.position import SourcePosition, first_term, postgres_fields
from ingest.adopt.start import OPTION, StartOffsets
from ingest.compile.event import CHANGE
from ingest.compile.position import position_sql
from ingest.decode.events import decode_events
from ingest.decode.framing import has_framings
from ingest.errors import TakeoverError
from ingest.kafka.breaks import Watermark
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.kafka.read import count_slices, read
from ingest.names import Partition
from ingest.run.work.context import Context
from ingest.sql.template import sql

_LOOK: Final = 1_000
"""Messages at the begin of a partition among which a change is expected."""


@attrs.frozen
class TopicChanges:
    """The changes that a topic has, by partition, offset and position."""

    run: Context
    subject: Subject

    def read(self, ranges: tuple[OffsetRange, ...]) -> DataFrame:
        """Return `partition, offset, at, term` of the changes in ranges. The changes sort by `term` first."""
        run, compiled = self.run, self.subject.compiled
        topic = TopicRanges(compiled.feed.topic, ranges)
        slices = count_slices(topic, run.spark.sparkContext.defaultParallelism)
        messages = read(
            run.spark, topic, run.settings.kafka, min_partitions=slices, headers=has_framings(compiled.table)
        )
        events = decode_events(messages, compiled).where((F.col("kind") == CHANGE) & ~F.col("rejected"))
        at = position_sql(compiled.terms, compiled.table.epoch, sql("sort_key"))
        return events.selectExpr(
            "partition", "offset", str(at.alias("at")), str(first_term(sql("sort_key")).alias("term"))
        )

    def ranges(self, start: dict[Partition, int], end: dict[Partition, int]) -> tuple[OffsetRange, ...]:
        """Return the ranges between offsets that are not empty."""
        topic = self.subject.table.topic
        return tuple(
            OffsetRange(topic, partition, first, end[partition])
            for partition, first in sorted(start.items())
            if first < end[partition]
        )


def resolve_position(run: Context, subject: Subject, position: SourcePosition) -> SourcePosition:
    """Return the position of the first change that may follow the given one, if events name no commit.

    PostgreSQL's events name the commit before their transaction.  The transaction after the last commit up to
    the position is the first one that can be later.  If it is not, applying it again changes nothing: no
    other change of the table lies between it and the position.
    """
    if position.commit is None:
        return position
    marks = subject.marks
    changes = TopicChanges(run, subject)
    ranges = changes.ranges({p: m.begin for p, m in marks.items()}, {p: m.end for p, m in marks.items()})
    if not ranges:
        return position
    run.step(subject.table, "reading the positions of the topic")
    earlier = changes.read(ranges).where(F.col("term") <= position.commit)
    (row,) = earlier.agg(F.max("term").alias("commit")).collect()
    commit = position.commit if row["commit"] is None else int(row["commit"])
    return attrs.evolve(position, fields=postgres_fields(commit), commit=commit)


def check_positions(run: Context, subject: Subject) -> None:
    """Raise TakeoverError if events have no position, as Oracle's before Debezium 2.5 (`ingest.dialects`)."""
    if subject.compiled.dialect.name != "oracle":
        return
    marks, changes = subject.marks, TopicChanges(run, subject)
    ranges = changes.ranges({p: m.begin for p, m in marks.items()}, {p: m.end for p, m in marks.items()})
    unordered = changes.read(ranges).where(F.expr("cast(term as decimal(20,0)) = 0")) if ranges else None
    first = unordered.orderBy("partition", "offset").first() if unordered is not None else None
    if first is not None:
        where = f"{subject.table.topic}-{first['partition']} offset {first['offset']}"
        problem = f"{where} is an event of Debezium before 2.5, which has no commit SCN of its own"
        todo = f"Leave --position out and give {OPTION}: the messages from there on are applied to the rows"
        raise TakeoverError(subject.table.name, problem, todo)


def check_gaps(run: Context, subject: Subject, position: str, text: str, start: StartOffsets) -> None:
    """Raise TakeoverError if changes after a position are lost, or lie before the start offsets.

    `position` becomes the position of the rows, and `text` is its form as a person wrote it.
    """
    for problem, todo in _gaps(run, subject, position, start):
        raise TakeoverError(subject.table.name, f"after position {text} {problem}", todo)


def _gaps(run: Context, subject: Subject, position: str, start: StartOffsets) -> Iterator[tuple[str, str]]:
    changes, marks, topic = TopicChanges(run, subject), subject.marks, subject.table.topic
    begins = {partition: mark.begin for partition, mark in marks.items()}
    skipped = changes.ranges(begins, dict(start.next))
    if skipped:
        (row,) = _later(changes.read(skipped), position).agg(F.count(F.lit(1)).alias("n")).collect()
        if row["n"]:
            todo = f"Start at an earlier offset, or leave {OPTION} out"
            yield f"come {row['n']:,} changes before the offsets {start.origin}: they would be left out", todo
    todo = "Make a new export, at a position from which the topic has every change"
    for partition, mark in sorted(marks.items()):
        if start.next[partition] == mark.begin > 0:
            deleted = f"{topic}-{partition}: messages before offset {mark.begin} were deleted"
            first = _first(changes, partition, mark)
            if first is None:
                yield f"changes may be missing ({deleted}, and nothing is left)", todo
            elif first[1] >= position:
                yield f"changes may be missing ({deleted}, and that of offset {first[0]} is later)", todo


def _first(changes: TopicChanges, partition: Partition, mark: Watermark) -> tuple[int, str] | None:
    """Return offset and position of the first change that a partition has."""
    for end in (min(mark.begin + _LOOK, mark.end), mark.end):
        ranges = changes.ranges({partition: mark.begin}, {partition: end})
        row = changes.read(ranges).orderBy("offset").first() if ranges else None
        if row is not None:
            return int(row["offset"]), str(row["at"])
    return None


def _later(changes: DataFrame, position: str) -> DataFrame:
    return changes.where(F.col("at") >= position)
