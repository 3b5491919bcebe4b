"""The plan of a table as a value, and as JSON."""

from collections.abc import Mapping
from typing import Any, Literal

import attrs

from ingest.compile.diff import SchemaChange
from ingest.errors import IngestError
from ingest.kafka.ranges import TopicRanges
from ingest.names import SchemaId, Topic
from ingest.operations.rebuild_plan import RebuildPlan
from ingest.operations.versions import PlannedChange
from ingest.order.batch_counts import BatchCounts
from ingest.run.report import by_text

PlanOutcome = Literal["commit", "idle", "fail", "temporary"]


@attrs.frozen
class VersionPlan:
    """A version of the value subject that is new to the table, compared with the version before it.

    `waiting`: whether pending records have it.  `problem` is the reason why it cannot be compiled.  `level`
    is the subject's compatibility, `refusal` the registry's answer if that level refuses this version.
    """

    version: int
    schema_id: SchemaId
    waiting: bool
    deleted: bool = False
    changes: tuple[PlannedChange, ...] = ()
    problem: str = ""
    level: str = ""
    refusal: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the version as JSON."""
        return {
            "version": self.version,
            "id": self.schema_id,
            "waiting": self.waiting,
            "deleted": self.deleted,
            "changes": [change.to_json() for change in self.changes],
            "problem": self.problem or None,
            "compatibility": self.level or None,
            "incompatible": self.refusal or None,
        }


@attrs.frozen
class ColumnChange:
    """A column that the run adds to the table, or gives another type; types are Spark's."""

    column: str
    type: str
    was: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the change as JSON."""
        return attrs.asdict(self, filter=lambda _, value: value != "")


@attrs.frozen
class TablePlan:
    """The effect of a run on one table.

    `columns` are the columns that the table gains, and those of another type afterwards; `changes` the
    differences of the schemas that lead to them.  `rewrites` are the columns that need the whole table
    rewritten, `refused` the schemas that a policy rejects.  `error` would stop the run, `warning` the next
    run with messages.
    """

    table: str
    topic: Topic
    verdict: PlanOutcome
    is_new: bool = False
    ranges: TopicRanges | None = None
    counts: BatchCounts = BatchCounts()
    versions: tuple[VersionPlan, ...] = ()
    columns: tuple[ColumnChange, ...] = ()
    changes: tuple[SchemaChange, ...] = ()
    refused: Mapping[SchemaId, str] = attrs.field(factory=dict, hash=False)
    rewrites: tuple[str, ...] = ()
    error: IngestError | None = None
    warning: str = ""
    rebuild: RebuildPlan | None = None
    """The rebuild without which a run is refused."""

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        ranges, counts = self.ranges, self.counts
        return {
            "table": self.table,
            "topic": self.topic,
            "verdict": self.verdict,
            "new": self.is_new,
            "offsets": {
                "from": by_text(ranges.start_offsets()) if ranges else {},
                "to": by_text(ranges.end_offsets()) if ranges else {},
            },
            "read": counts.read,
            "apply": {"upserted": counts.upserted, "deleted": counts.deleted},
            "rejected": counts.rejected,
            "schema_ids": [schema_id for schema_id in counts.schema_ids if schema_id > 0],
            "versions": [version.to_json() for version in self.versions],
            "schema_changes": [change.to_json() for change in self.changes],
            "refused": {str(schema_id): reason for schema_id, reason in self.refused.items()},
            "rewrites": list(self.rewrites),
            "columns": [column.to_json() for column in self.columns],
            "error": str(self.error) if self.error else None,
            "warning": self.warning or None,
            "rebuild": self.rebuild.to_json() if self.rebuild else None,
        }
