"""The outcome of a run, as values; `ingest.report` declares its JSON."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from ingest.compile.diff import SchemaChange
from ingest.errors import DecodeError, IngestError, RetryableError
from ingest.kafka.ranges import TopicRanges
from ingest.names import Instant, Topic
from ingest.order.batch_counts import BatchCounts
from ingest.report import (
    Applied,
    Offsets,
    Outcome,
    Report,
    RunOutcome,
    SchemaChangeReport,
    StepSeconds,
    TableReport,
    unstructure,
)
from ingest.run.lag import Measures


@attrs.frozen
class TableOutcome:
    """The outcome of a run for one table."""

    table: str
    topic: Topic
    outcome: Outcome
    instant: Instant | None = None
    ranges: TopicRanges | None = None
    counts: BatchCounts = BatchCounts()
    schema_changes: tuple[SchemaChange, ...] = ()
    seconds: float = 0.0
    error: IngestError | None = None
    lost: int = 0
    """Rows with a null for a value that neither the source nor an older row gave."""
    measures: Measures = Measures()
    steps: StepSeconds = StepSeconds()

    def report(self) -> TableReport:
        """Return the outcome as the report has it."""
        counts, ranges = self.counts, self.ranges
        return TableReport(
            table=self.table,
            outcome=self.outcome,
            instant=self.instant,
            topic=self.topic,
            offsets=offsets_of(ranges),
            read=counts.read,
            applied=Applied(counts.upserted, counts.deleted),
            superseded=counts.superseded,
            ignored=dict(sorted(counts.ignored.items())),
            rejected=counts.rejected,
            schema_ids=tuple(schema_id for schema_id in counts.schema_ids if schema_id > 0),
            schema_changes=tuple(
                SchemaChangeReport(change.kind, change.column, change.type, change.was)
                for change in self.schema_changes
            ),
            max_source_ts=counts.max_source_ts,
            seconds=round(self.seconds, 3),
            rows_with_lost_values=self.lost,
            step_seconds=self.steps,
            metrics=self.measures.report(counts.read_bytes),
            error=str(self.error) if self.error else None,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        content: dict[str, Any] = unstructure(self.report())
        return content


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
        outcomes = {table.outcome for table in self.tables}
        return "failed" if "failed" in outcomes else "temporary" if "temporary" in outcomes else "done"

    @property
    def exit_code(self) -> int:
        """The process's exit code; that of wrong settings only where nothing worse failed."""
        worst = (table.error for table in self.tables if table.outcome == self.outcome)
        return min((error.exit_code for error in worst if error), default=0)

    def report(self) -> Report:
        """Return the run as the report has it."""
        tables = tuple(table.report() for table in self.tables)
        return Report(self.run_id, self.started_at, self.finished_at, self.outcome, tables, self.steps)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        content: dict[str, Any] = unstructure(self.report())
        return content


def failed(table: str, topic: Topic, error: IngestError, seconds: float) -> TableOutcome:
    """Return the outcome of a table that an error stopped."""
    outcome: Outcome = "temporary" if isinstance(error, RetryableError) else "failed"
    counts = BatchCounts(rejected=error.count) if isinstance(error, DecodeError) else BatchCounts()
    return TableOutcome(table, topic, outcome, counts=counts, seconds=seconds, error=error)


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
