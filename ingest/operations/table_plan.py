"""The plan of a table as a value, and as JSON."""

from collections import ChainMap
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Final, Literal

import attrs

from ingest.compile.diff import SchemaChange
from ingest.json_values import JsonValue
from ingest.kafka.ranges import TopicRanges
from ingest.names import SchemaId, Topic
from ingest.operations.rebuild.rebuild_plan import RebuildPlan
from ingest.operations.versions import PlannedChange
from ingest.order.batch_counts import BatchCounts, total
from ingest.report.contract import Offsets
from ingest.report.outcome import offsets_of
from ingest.report.result import TableResult

PlanOutcome = Literal["commit", "idle", "fail", "temporary"]


@attrs.frozen
class VersionPlan(JsonValue):
    """A version of the value subject that is new to the table, compared with the version before it.

    `waiting`: whether pending records have it.  `problem` is the reason why it cannot be compiled.  `level`
    is the subject's compatibility, `refusal` the registry's answer if that level refuses this version.
    """

    json_keys = (
        "version id=schema_id waiting deleted changes problem|null compatibility=level|null "
        "incompatible=refusal|null"
    )

    version: int
    schema_id: SchemaId
    waiting: bool
    deleted: bool = False
    changes: tuple[PlannedChange, ...] = ()
    problem: str = ""
    level: str = ""
    refusal: str = ""


@attrs.frozen
class ColumnChange(JsonValue):
    """A column that the run adds to the table, or gives another type.  Types are Spark's."""

    json_keys = "column type? was?"

    column: str
    type: str
    was: str = ""


@attrs.frozen
class TablePlan(TableResult):
    """The effect of a run on one table.

    `columns` are the columns that the table gains or that have another type afterwards.  `changes` are the
    differences of the schemas that lead to them.  `rewrites` are the columns that need the whole table
    rewritten, `refused` the schemas that a policy rejects.  `error` would stop the run, `warning` the next
    run with messages.
    """

    json_keys = (
        "table topic verdict new=is_new offsets topics? new_topic=is_new_topic? counts.other_tables? "
        "tables_without_file=without_file? counts.read apply=counts.applied counts.rejected "
        "schema_ids=counts.registered_ids versions schema_changes=changes refused rewrites makes_index? "
        "columns error warning|null rebuild"
    )

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
    makes_index: bool = False
    """Whether the run makes the record index, for which it reads all files of the table."""
    warning: str = ""
    rebuild: RebuildPlan | None = None
    """The rebuild without which a run is refused."""
    is_new_topic: bool = False
    """Whether a table of several topics begins to read this one."""
    topics: "tuple[TablePlan, ...]" = attrs.field(default=(), kw_only=True)
    """The plans of the topics, of a table of several.  Then `ranges` is None."""
    without_file: tuple[str, ...] = ()
    """Other tables of the topic with pending messages, which no table file takes."""

    @property
    def offsets(self) -> Offsets:
        """The ranges that the run would read."""
        return offsets_of(self.ranges)


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
        makes_index=any(plan.makes_index for plan in plans),
        error=worst.error,
        warning="; ".join(filter(None, (plan.warning for plan in plans))),
        rebuild=next((plan.rebuild for plan in plans if plan.rebuild), None),
        topics=tuple(plans),
    )
