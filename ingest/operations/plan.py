"""A run without its commit, and the differences of schema versions that are new to a table.

The pending range is read, decoded and fitted by the steps of a run.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Final

import attrs

from ingest.compile.diff import SchemaChange, differences
from ingest.compile.payload import CompiledWriter
from ingest.compile.policy import key_drift
from ingest.compile.row_model import Coordinates
from ingest.compile.table import CompiledTable
from ingest.errors import (
    IngestError,
    RegistryRefusedError,
    SchemaError,
    SchemaNotFoundError,
    TableChangedError,
    TableFileError,
    UnmappedTypeError,
)
from ingest.hudi.keys import check_key_types
from ingest.hudi.timeline.ledger import known_ids
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import Watermarks
from ingest.names import Partition, SchemaId, Topic
from ingest.operations.rebuild.rebuild_plan import free_by_files, free_by_hadoop, plan_refused
from ingest.operations.status.ahead import NewestVersions, fetch_newest, has_new_versions
from ingest.operations.table_plan import ColumnChange, PlanOutcome, TablePlan, VersionPlan, combined
from ingest.operations.versions import planned
from ingest.registry import Registry, deleted_versions
from ingest.report.outcome import without_file
from ingest.report.result import Failure, failure_of, worst
from ingest.run.batch.chosen import check_computed
from ingest.run.batch.commit import fetch_known, prepared, rows_to_write
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.run.batch.schemas import PayloadSchemas, compile_written
from ingest.run.batch.start import Start, find_start
from ingest.run.batch.table_state import TableState, table_state
from ingest.run.work.context import Context
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.tables import Feed, TableConfig

States = dict[str, TableState]
"""The state of tables of several topics, by name, after the plans of the first topics."""


def plan_table(
    run: Context,
    feed: Feed,
    watermarks: Mapping[Partition, Watermark],
    states: States,
    newest: NewestVersions,
) -> TablePlan:
    """Plan one table, by the steps of a run.  An error that would stop the run is the plan's error.

    `states` are the states of tables of several topics, after the plans of their first topics.
    """
    plan = TablePlan(feed.name, feed.topic, "idle")
    try:
        stored = run.lake.table(feed.table)
        start = find_start(run, stored, feed, watermarks)
        if start.ranges.is_empty:
            return _plan_idle(run, feed, start, newest)
        plan = _started(feed, start)
        own = table_state(run, feed.table, start.last)
        state = attrs.evolve(states.get(feed.name, own), truncated_at=own.truncated_at)
        schemas = fetch_known(run, feed, start.ranges, start.watermarks, state.met_ids)
        if not feed.table.source_table:  # the messages show which schemas are the table's
            compiled = compile_written(feed, *schemas)
            plan = attrs.evolve(plan, versions=_versions(run, compiled, state.met_ids, ()))
        stored.check_storage(feed.name)
        with prepared(run, feed, state, start.ranges, schemas) as batch:
            plan = _with_batch(run, plan, batch, state.met_ids)
            new = rows_to_write(run, batch)
            check_computed(new.rows, new.batch)
            makes_index = stored.lacks_index(feed.table.target)
            plan = attrs.evolve(plan, counts=new.batch.counts, makes_index=makes_index)
            if feed.source:
                states[feed.name] = new.batch.state_after(new.rows)
    except TableChangedError as error:
        rebuild = plan_refused(feed.table, run.lake.table(feed.table), free_by_hadoop(run), error)
        return attrs.evolve(stopped(plan, error), rebuild=rebuild)
    except IngestError as error:
        return stopped(plan, error)
    return attrs.evolve(plan, verdict="commit")


def plan_by_files(
    run: Context, feed: Feed, watermarks: Mapping[Partition, Watermark], newest: NewestVersions
) -> TablePlan | None:
    """Plan a table without pending messages, without a JVM, or return None if messages are pending."""
    stored = run.files.table(feed.table)
    try:
        start = find_start(run, stored, feed, watermarks)
    except TableChangedError as error:
        plan = stopped(TablePlan(feed.name, feed.topic, "fail"), error)
        return attrs.evolve(plan, rebuild=plan_refused(feed.table, stored, free_by_files(run), error))
    return _plan_idle(run, feed, start, newest) if start.ranges.is_empty else None


def _started(feed: Feed, start: Start) -> TablePlan:
    """Return the plan of a table whose ranges are known, and whether it is new."""
    is_new_topic = bool(feed.source and not (start.last and start.last.next_offsets))
    return TablePlan(
        feed.name,
        feed.topic,
        "idle",
        is_new=start.last is None,
        ranges=start.ranges,
        is_new_topic=is_new_topic,
    )


def _plan_idle(run: Context, feed: Feed, start: Start, newest: NewestVersions) -> TablePlan:
    """Plan a table without pending messages: a run passes with any schemas."""
    plan = _started(feed, start)
    met_ids = known_ids(start.last)
    try:
        if feed.table.source_table or not has_new_versions(run.registry, feed, met_ids, newest):
            return plan
        schemas = fetch_known(run, feed, start.ranges, start.watermarks, met_ids)
        return _with_versions(run, feed, plan, schemas, met_ids)
    except IngestError as error:
        return stopped(plan, error)


def _with_versions(
    run: Context, feed: Feed, plan: TablePlan, schemas: PayloadSchemas, met_ids: tuple[SchemaId, ...]
) -> TablePlan:
    """Add the versions that are new to an idle table."""
    try:
        compiled = compile_written(feed, *schemas)
        if compiled.key_source != Coordinates():
            check_key_types(feed.name, {name: str(kind) for name, kind in compiled.key_columns})
        drift = key_drift(compiled)
        if drift and feed.table.policy(drift.kind) == "fail":
            change = f"{drift.was} becomes {drift.type}"
            plan = attrs.evolve(
                plan, warning=f"key-changed: {change}, and the next message will stop the run"
            )
        return attrs.evolve(plan, versions=_versions(run, compiled, met_ids, ()))
    except (SchemaError, UnmappedTypeError) as error:
        return attrs.evolve(plan, warning=str(error))


def _with_batch(
    run: Context, plan: TablePlan, batch: PreparedBatch, met_ids: tuple[SchemaId, ...]
) -> TablePlan:
    """Add the counts and changes of the pending messages to a plan."""
    waiting = (*batch.counts.schema_ids, *batch.counts.rejected_ids)
    return attrs.evolve(
        plan,
        counts=batch.counts,
        versions=_versions(run, batch.compiled, met_ids, waiting),
        columns=() if batch.evolution.failing else _column_changes(batch),
        changes=batch.evolution.changes,
        refused=batch.refused,
        rewrites=batch.rewrites,
    )


def _column_changes(batch: PreparedBatch) -> tuple[ColumnChange, ...]:
    """Compare the columns after the commit with the table's."""
    before, evolution = batch.state.columns or {}, batch.evolution
    return tuple(
        ColumnChange(column.name, str(column.spark), str(before.get(column.name, "")))
        for column in (*evolution.keys, *evolution.columns)
        if before.get(column.name) != column.spark
    )


def stopped(plan: TablePlan, error: IngestError) -> TablePlan:
    """Return a plan that ends with an error."""
    return attrs.evolve(plan, verdict=_STOPPED[failure_of(error)], error=error)


_STOPPED: Final[Mapping[Failure, PlanOutcome]] = {"temporary": "temporary", "failed": "fail"}


WOULD_COMMIT: Final = 3
"""The detailed exit code of pending work.  2, which Terraform has for it, means wrong usage here."""


def exit_code(plans: Sequence[TablePlan], *, detailed: bool = False) -> int:
    """Return the exit code of a run of these tables: the worst error's code, or 0 without any.

    With `detailed`, 0 means nothing to do, and `WOULD_COMMIT` that a run would pass and commit.
    """
    code = worst(plans)
    would_commit = any(plan.verdict == "commit" for plan in plans)
    return WOULD_COMMIT if detailed and would_commit and not code else code


# --- versions ------------------------------------------------------------------------------------


def _versions(
    run: Context, compiled: CompiledTable, met_ids: tuple[SchemaId, ...], waiting: tuple[SchemaId, ...]
) -> tuple[VersionPlan, ...]:
    """Return the versions newer than all known ones, older ones with pending records, and uncompilable ones.

    A new table knows no version and has no columns to compare: newer versions without records are left out.
    """
    subject = compiled.feed.subjects.value
    if compiled.table.format != "avro" or subject is None:
        return ()
    writers = sorted((w for w in compiled.value.writers if w.version), key=lambda writer: writer.version)
    newest = max((writer.version for writer in writers if writer.schema_id in met_ids), default=None)
    deleted = deleted_versions(run.registry, subject)
    plans = []
    for before, writer in zip((None, *writers), writers, strict=False):
        if writer.schema_id not in met_ids and _is_new(writer, newest, waiting):
            is_waiting, is_deleted = writer.schema_id in waiting, writer.version in deleted
            version = VersionPlan(writer.version, writer.schema_id, is_waiting, is_deleted)
            compared = before if newest is not None else None
            plans.append(_compared(run.registry, compiled, version, writer, compared))
    unmapped = [
        VersionPlan(schema.version, schema.schema_id, waiting=False, problem=problem)
        for schema, problem in compiled.unmapped
        if schema.version and schema.schema_id not in met_ids
    ]
    return tuple(sorted((*plans, *unmapped), key=lambda version: version.version))


def _is_new(writer: CompiledWriter, newest: int | None, waiting: tuple[SchemaId, ...]) -> bool:
    return writer.schema_id in waiting or (newest is not None and writer.version > newest)


def _compared(
    registry: Registry,
    compiled: CompiledTable,
    version: VersionPlan,
    writer: CompiledWriter,
    before: CompiledWriter | None,
) -> VersionPlan:
    """Add to a version its differences from the one before it, and the verdict of the registry's level."""
    misfit = compiled.misfits.get(writer.schema_id)
    if misfit:
        changes = planned(compiled.table, [SchemaChange("envelope-changed", "", misfit)])
        return attrs.evolve(version, changes=changes)
    if before is None:
        return version
    changes = planned(compiled.table, differences(compiled.value, before.schema_id, writer.schema_id))
    level, refusal = _compatibility(registry, compiled.feed, before, writer)
    return attrs.evolve(version, changes=changes, level=level, refusal=refusal)


def _compatibility(
    registry: Registry, feed: Feed, before: CompiledWriter, writer: CompiledWriter
) -> tuple[str, str]:
    """Return the subject's level, and the registry's reasons if it refuses a version at that level."""
    subject = feed.subjects.value
    if subject is None:
        return "", ""
    level = registry.compatibility(subject)
    registered = registry.version(subject, writer.version)
    try:
        verdict = registry.compatible(
            subject, registered.schema_text, registered.references, version=before.version
        )
    except (RegistryRefusedError, SchemaNotFoundError):  # references, or a deleted version before it
        return level, ""
    return level, "" if verdict.compatible else "; ".join(verdict.messages) or f"not {level}"


@attrs.frozen
class PlanTask:
    """Plans tables (a `TableTask`)."""

    watermarks: Watermarks
    newest: NewestVersions = attrs.Factory(dict)
    states: States = attrs.Factory(dict)

    def with_spark(self, run: Context, feed: Feed) -> TablePlan:
        """Plan one table."""
        return plan_table(run, feed, self.watermarks.of(feed.topic), self.states, self.newest)

    def by_files(self, run: Context, feed: Feed) -> TablePlan | None:
        """Plan one table without pending messages."""
        return plan_by_files(run, feed, self.watermarks.of(feed.topic), self.newest)

    def finish(self, run: Context, feed: Feed, result: TablePlan | IngestError, _: float) -> TablePlan:
        """Make a plan of an error, too."""
        run.progress(feed.name, "idle")
        if isinstance(result, IngestError):
            return stopped(TablePlan(feed.name, feed.topic, "fail"), result)
        return result

    def combine(self, table: TableConfig, results: Sequence[TablePlan]) -> TablePlan:
        """Return the plan of a table of several topics."""
        return combined(table.name, results)


def plan_tables(run: Context, tables: Sequence[TableConfig]) -> tuple[TablePlan, ...]:
    """Plan tables, all of their topics."""
    feeds, watermarks = resolve(run, tables)
    newest = fetch_newest(run, chain.from_iterable(feeds.values()))
    return work_on_tables(run, tables, TopicsTask(PlanTask(watermarks, newest), feeds))


def of_broken_file(error: TableFileError) -> TablePlan:
    """Return the plan of a table with a broken file."""
    return TablePlan(error.table, Topic(""), "fail", error=error)


def with_missing_files(
    plans: Sequence[TablePlan], read_tables: Callable[[], Sequence[TableConfig]]
) -> tuple[TablePlan, ...]:
    """Add to the plans the tables of their topics that no table file takes.

    `read_tables` reads all table files.  It is called only if a topic has other tables.
    """
    if not any(plan.counts.other_tables for plan in plans):
        return tuple(plans)
    tables = read_tables()
    return tuple(
        attrs.evolve(plan, without_file=without_file(plan.topic, plan.counts, tables)) for plan in plans
    )
