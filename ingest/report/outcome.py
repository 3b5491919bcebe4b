"""The outcome of a run, as values. `ingest.report.contract` declares its JSON."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.compile.diff import SchemaChange
from ingest.errors import DecodeError, IngestError, TableFileError
from ingest.kafka.ranges import TopicRanges
from ingest.names import Instant, Topic
from ingest.order.batch_counts import BatchCounts, total
from ingest.report.contract import (
    Applied,
    Offsets,
    Outcome,
    Report,
    RunOutcome,
    SchemaChangeReport,
    StepSeconds,
    TableReport,
    TopicReport,
)
from ingest.report.lag import Measures, of_topics
from ingest.report.result import TableResult, failure_of, worst, worst_outcome
from ingest.tables import TableConfig, own_name


@attrs.frozen
class TableOutcome(TableResult):
    """The outcome of a run for one table."""

    topic: Topic
    outcome: Outcome
    instant: Instant | None = None
    ranges: TopicRanges | None = None
    counts: BatchCounts = BatchCounts()
    schema_changes: tuple[SchemaChange, ...] = ()
    lost: int = 0
    """Rows with a null for a value that neither the source nor an older row gave."""
    measures: Measures = Measures()
    steps: StepSeconds = StepSeconds()
    topics: "tuple[TableOutcome, ...]" = attrs.field(default=(), kw_only=True)
    """The outcomes of a table's topics, if it has several. Then `ranges` is None."""
    without_file: tuple[str, ...] = ()
    """Other tables of the topic in the range, which no table file takes."""

    def report(self) -> TableReport:
        """Return the outcome as the report has it."""
        counts = self.counts
        return TableReport(
            table=self.table,
            outcome=self.outcome,
            instant=self.instant,
            topic=self.topic,
            offsets=_offsets_of_topics(self.topics) if self.topics else offsets_of(self.ranges),
            read=counts.read,
            applied=Applied(**counts.applied),
            superseded=counts.superseded,
            ignored=counts.ignored,
            rejected=counts.rejected,
            schema_ids=counts.registered_ids,
            schema_changes=tuple(
                SchemaChangeReport(change.kind, change.column, change.type, change.was)
                for change in self.schema_changes
            ),
            max_source_ts=counts.max_source_ts,
            seconds=self.seconds,
            rows_with_lost_values=self.lost,
            step_seconds=self.steps,
            metrics=self.measures.report(counts.read_bytes),
            topics=tuple(_topic_report(topic.report()) for topic in self.topics),
            tables_without_file=self.without_file,
            error=str(self.error) if self.error else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return self.report().to_json()


@attrs.frozen
class RunReport:
    """The outcomes of a run for all its tables."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    tables: tuple[TableOutcome, ...]
    steps: StepSeconds = StepSeconds()

    @property
    def outcome(self) -> RunOutcome:
        """The worst of the tables': one that would fail again outweighs one that might not."""
        return worst_outcome(self.tables)

    @property
    def exit_code(self) -> int:
        """The process's exit code."""
        return worst(self.tables)

    def report(self) -> Report:
        """Return the run as the report has it."""
        tables = tuple(table.report() for table in self.tables)
        return Report(self.run_id, self.started_at, self.finished_at, self.outcome, tables, self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return self.report().to_json()


def all_failed(
    run_id: str,
    started_at: datetime,
    tables: Iterable[TableConfig],
    error: IngestError,
    broken: Iterable[TableFileError] = (),
) -> RunReport:
    """Return the report of a run that an error ended as a whole.  `broken` are errors of table files."""
    finished_at = datetime.now(UTC)
    seconds = (finished_at - started_at).total_seconds()
    outcomes = tuple(failed(table.name, table.topic, error, seconds) for table in tables)
    of_files = tuple(failed(problem.table, Topic(""), problem, 0.0) for problem in broken)
    return RunReport(run_id, started_at, finished_at, (*outcomes, *of_files))


def with_missing_files(report: RunReport, read_tables: Callable[[], Sequence[TableConfig]]) -> RunReport:
    """Add to a report the tables of its topics that no table file takes.

    `read_tables` reads all table files.  It is called only if a topic has other tables.
    """
    if not any(outcome.counts.other_tables for outcome in report.tables):
        return report
    tables = read_tables()
    outcomes = (
        attrs.evolve(outcome, without_file=without_file(outcome.topic, outcome.counts, tables))
        for outcome in report.tables
    )
    return attrs.evolve(report, tables=tuple(outcomes))


def without_file(topic: Topic, counts: BatchCounts, tables: Iterable[TableConfig]) -> tuple[str, ...]:
    """Return the other tables of a topic that no table file takes, of those that a batch counts."""
    with_file = {own_name(table) for table in tables if table.source_table and table.topic == topic}
    return tuple(name for name in counts.other_tables if name not in with_file)


def failed(table: str, topic: Topic, error: IngestError, seconds: float) -> TableOutcome:
    """Return the outcome of a table that an error stopped."""
    counts = BatchCounts(rejected=error.count) if isinstance(error, DecodeError) else BatchCounts()
    return TableOutcome(table, topic, failure_of(error), counts=counts, seconds=seconds, error=error)


_WORST: Final[tuple[Outcome, ...]] = ("failed", "temporary", "committed", "idle")


def combined(table: str, outcomes: Sequence[TableOutcome]) -> TableOutcome:
    """Return the outcome of a table of several topics: the worst outcome, and sums."""
    worst = min(outcomes, key=lambda outcome: _WORST.index(outcome.outcome))
    return TableOutcome(
        table,
        Topic(",".join(outcome.topic for outcome in outcomes)),
        worst.outcome,
        next((outcome.instant for outcome in reversed(outcomes) if outcome.instant), None),
        counts=total([outcome.counts for outcome in outcomes]),
        schema_changes=tuple(change for outcome in outcomes for change in outcome.schema_changes),
        seconds=sum(outcome.seconds for outcome in outcomes),
        error=worst.error,
        lost=sum(outcome.lost for outcome in outcomes),
        measures=of_topics([outcome.measures for outcome in outcomes]),
        steps=outcomes[-1].steps,
        topics=tuple(outcomes),
    )


def continued(parts: Sequence[TableOutcome]) -> TableOutcome:
    """Return the outcome of a topic that was read in several parts."""
    whole = combined(parts[0].table, parts)
    ranges = [part.ranges for part in parts if part.ranges is not None]
    ends = {part.partition: part.end for part in ranges[-1].ranges}
    joined = tuple(attrs.evolve(part, end=ends.get(part.partition, part.end)) for part in ranges[0].ranges)
    return attrs.evolve(whole, topic=parts[0].topic, topics=(), ranges=attrs.evolve(ranges[0], ranges=joined))


def _topic_report(table: TableReport) -> TopicReport:
    """Return the report of one topic of a table."""
    names = {field.name for field in attrs.fields(TopicReport)} & {f.name for f in attrs.fields(TableReport)}
    values = attrs.asdict(table, recurse=False, filter=lambda field, _: field.name in names)
    metrics = table.metrics
    return TopicReport(**values, lag_offsets=metrics.lag_offsets, lag_seconds=metrics.lag_seconds)


def _offsets_of_topics(outcomes: Sequence[TableOutcome]) -> Offsets:
    """Return the ranges of several topics, by topic and partition."""
    by_topic = [(outcome.topic, offsets_of(outcome.ranges)) for outcome in outcomes]
    return Offsets(
        {f"{topic}-{partition}": at for topic, o in by_topic for partition, at in o.start.items()},
        {f"{topic}-{partition}": at for topic, o in by_topic for partition, at in o.end.items()},
    )


def write_whole(path: Path, text: str) -> None:
    """Write a file in one move, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def offsets_of(ranges: TopicRanges | None) -> Offsets:
    """Return ranges as the report has them."""
    if ranges is None:
        return Offsets()
    return Offsets(by_text(ranges.start_offsets()), by_text(ranges.end_offsets()))


def by_text(offsets: Mapping[Any, int]) -> dict[str, int]:
    """Return offsets by partition as JSON has them: its keys are text."""
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
