"""The plan of a table as a value, and as JSON."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal

import attrs

from ingest.compile.diff import SchemaChange
from ingest.kafka.ranges import TopicRanges
from ingest.names import SchemaId, Topic
from ingest.operations.rebuild.rebuild_plan import RebuildPlan
from ingest.operations.versions import PlannedChange
from ingest.order.batch_counts import BatchCounts, total
from ingest.report.outcome import by_text
from ingest.report.result import TableResult

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
    """A column that the run adds to the table, or gives another type.  Types are Spark's."""

    column: str
    type: str
    was: str = ""

    def to_json(self) -> dict[str, str]:
        """Return the change as JSON."""
        return attrs.asdict(self, filter=lambda _, value: value != "")


@attrs.frozen
class TablePlan(TableResult):
    """The effect of a run on one table.

    `columns` are the columns that the table gains or that have another type afterwards.  `changes` are the
    differences of the schemas that lead to them.  `rewrites` are the columns that need the whole table
    rewritten, `refused` the schemas that a policy rejects.  `error` would stop the run, `warning` the next
    run with messages.
    """

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
    warning: str = ""
    rebuild: RebuildPlan | None = None
    """The rebuild without which a run is refused."""
    is_new_topic: bool = False
    """Whether a table of several topics begins to read this one."""
    topics: "tuple[TablePlan, ...]" = attrs.field(default=(), kw_only=True)
    """The plans of the topics, of a table of several.  Then `ranges` is None."""
    without_file: tuple[str, ...] = ()
    """Other tables of the topic with pending messages, which no table file takes."""

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
            **_present(
                topics=[topic.to_json() for topic in self.topics],
                new_topic=self.is_new_topic,
                other_tables=dict(counts.other_tables),
                tables_without_file=list(self.without_file),
            ),
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


def _present(**parts: Any) -> dict[str, Any]:
    """Return the parts of a plan that are not empty."""
    return {name: part for name, part in parts.items() if part}


_WORST: Final[tuple[PlanOutcome, ...]] = ("fail", "temporary", "commit", "idle")


def combined(table: str, plans: Sequence[TablePlan]) -> TablePlan:
    """Return the plan of a table of several topics: the worst verdict, and sums."""
    worst = min(plans, key=lambda plan: _WORST.index(plan.verdict))
    columns = {change.column: change for plan in reversed(plans) for change in reversed(plan.columns)}
    return TablePlan(
        table,
        Topic(",".join(plan.topic for plan in plans)),
        worst.verdict,
        is_new=plans[0].is_new,
        counts=total([plan.counts for plan in plans]),
        versions=tuple(chain.from_iterable(plan.versions for plan in plans)),
        columns=tuple(reversed(columns.values())),
        changes=tuple(chain.from_iterable(plan.changes for plan in plans)),
        refused=dict(ChainMap(*(dict(plan.refused) for plan in plans))),
        rewrites=tuple(dict.fromkeys(chain.from_iterable(plan.rewrites for plan in plans))),
        error=worst.error,
        warning="; ".join(filter(None, (plan.warning for plan in plans))),
        rebuild=next((plan.rebuild for plan in plans if plan.rebuild), None),
        topics=tuple(plans),
    )
