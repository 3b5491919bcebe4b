"""What a run did, as values, and as the JSON of the contract."""

import os
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import attrs

from ingest.compile.diff import SchemaChange
from ingest.errors import DecodeError, IngestError, RetryableError
from ingest.kafka.ranges import TopicRanges
from ingest.names import Instant, Topic
from ingest.order.counts import BatchCounts
from ingest.run.lag import Measures, to_iso

Outcome = Literal["committed", "idle", "failed", "temporary"]
RunOutcome = Literal["done", "failed", "temporary"]


@attrs.frozen
class TableOutcome:
    """What a run did to one table."""

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
    """Rows with a value that the source did not send and that no older row gave: null now."""
    measures: Measures = Measures()

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        counts, ranges = self.counts, self.ranges
        return {
            "table": self.table,
            "outcome": self.outcome,
            "instant": self.instant,
            "topic": self.topic,
            "offsets": {
                "from": by_text(ranges.start_offsets()) if ranges else {},
                "to": by_text(ranges.end_offsets()) if ranges else {},
            },
            "read": counts.read,
            "applied": {"upserted": counts.upserted, "deleted": counts.deleted},
            "superseded": counts.superseded,
            "ignored": dict(sorted(counts.ignored.items())),
            "rejected": counts.rejected,
            "schema_ids": [one for one in counts.schema_ids if one > 0],
            "schema_changes": [change.to_json() for change in self.schema_changes],
            "max_source_ts": to_iso(counts.max_source_ts),
            "seconds": round(self.seconds, 3),
            **({"rows_with_lost_values": self.lost} if self.lost else {}),
            "metrics": {"read_bytes": counts.read_bytes, **self.measures.to_json()},
            "error": str(self.error) if self.error else None,
        }


@attrs.frozen
class RunReport:
    """What a run did to all its tables."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    tables: tuple[TableOutcome, ...]

    @property
    def outcome(self) -> RunOutcome:
        """The worst of the tables': one that would fail again outweighs one that might not."""
        found = {table.outcome for table in self.tables}
        return "failed" if "failed" in found else "temporary" if "temporary" in found else "done"

    @property
    def exit_code(self) -> int:
        """The process's exit code; that of wrong settings only where nothing worse failed."""
        codes = (one.error.exit_code for one in self.tables if one.error and one.outcome == self.outcome)
        return min(codes, default=0)

    def to_json(self) -> dict[str, Any]:
        """Return the contract's JSON."""
        return {
            "run_id": self.run_id,
            "started_at": to_iso(self.started_at),
            "finished_at": to_iso(self.finished_at),
            "outcome": self.outcome,
            "tables": [table.to_json() for table in self.tables],
        }


def failed(table: str, topic: Topic, error: IngestError, seconds: float) -> TableOutcome:
    """Return the outcome of a table that an error stopped."""
    outcome: Outcome = "temporary" if isinstance(error, RetryableError) else "failed"
    counts = BatchCounts(rejected=error.count) if isinstance(error, DecodeError) else BatchCounts()
    return TableOutcome(table, topic, outcome, counts=counts, seconds=seconds, error=error)


def write_whole(path: Path, text: str) -> None:
    """Write a file in one move, so that nobody reads half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        scratch.write_text(text, encoding="utf-8")
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def by_text(offsets: Mapping[Any, int]) -> dict[str, int]:
    """Return offsets by partition as JSON has them: its keys are text."""
    return {str(partition): offset for partition, offset in sorted(offsets.items())}
