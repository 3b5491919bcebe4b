"""Tables written again after a change of a part that is fixed at creation: one commit, the offsets stay."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal

import attrs

from ingest.errors import IngestError, RebuildError, TableChangedError
from ingest.hudi.fixed import FixedChange, FixedChanges, find_mask_changes
from ingest.hudi.options import check_hudi, options_digest
from ingest.hudi.storage import exchange as exchanging
from ingest.hudi.timeline.ledger import LedgerEntry, known_ids
from ingest.hudi.upkeep import rebuild
from ingest.kafka.breaks import Watermark, count_messages
from ingest.kafka.watermarks import Watermarks
from ingest.names import Instant, Partition, first_few
from ingest.operations.rebuild import rebuild_rows
from ingest.operations.rebuild.rebuild_plan import (
    RebuildPlan,
    Source,
    free_by_hadoop,
    plan_rebuild,
    whole_ranges,
)
from ingest.operations.rebuild.unfinished import noted
from ingest.report.result import TableResult, failure_of
from ingest.run.batch.compacted_topics import refuse_compacted
from ingest.run.batch.own_messages import met_schemas
from ingest.run.batch.schemas import PayloadSchemas, compile_written, fetch_written, in_met_order
from ingest.run.work import writer as writers
from ingest.run.work.context import Context
from ingest.run.work.topics import FeedsByTable
from ingest.run.work.work import resolve, work_on_tables
from ingest.tables import Feed, TableConfig

if TYPE_CHECKING:
    from ingest.hudi.storage.exchange import Folders
    from ingest.hudi.table import HudiTable
    from ingest.operations.rebuild.rebuild_rows import AppliedTopic, NewRows

_EXCHANGED: Final = ("target.partition_by", "target.hive_style_partitions", "target.table_version")
RebuildOutcome = Literal["rebuilt", "planned", "idle", "failed", "temporary"]


@attrs.frozen
class Rebuilt(TableResult):
    """The rebuild of a table, or its plan.  `plan` is None if nothing was to do or it failed before."""

    json_keys = "table outcome source plan instant rows seconds error"

    outcome: RebuildOutcome
    source: Source
    plan: RebuildPlan | None = None
    instant: Instant | None = None
    rows: int | None = None
    """The rows of the table after it."""


@attrs.frozen
class _Table:
    """A table to rebuild, with the key of its file, and its changes."""

    feeds: tuple[Feed, ...]
    stored: "HudiTable"
    last: LedgerEntry
    key_columns: tuple[str, ...]
    changes: FixedChanges

    @property
    def config(self) -> TableConfig:
        """The table file."""
        return self.feeds[0].table


@attrs.frozen
class RebuildTask:
    """Rebuilds tables (a `TableTask`)."""

    source: Source
    is_dry: bool
    feeds: FeedsByTable
    watermarks: Watermarks

    def by_files(self, run: Context, table: TableConfig) -> Rebuilt | None:
        """Return the result for a table without commits."""
        stored = run.files.table(table)
        if stored.checkpoint() is None:
            return Rebuilt(table.name, "idle", self.source)
        run.file_bytes[table.name] = stored.data_size()
        if self.source == "topic":
            topics = (self.watermarks.found.get(feed.topic, {}) for feed in self.feeds[table.name])
            run.waiting[table.name] = sum(map(count_messages, topics))
        return None

    def with_spark(self, run: Context, table: TableConfig) -> Rebuilt:
        """Rebuild one table as its only writer, or plan it as a reader."""
        if self.source == "topic" and table.source_table:
            refuse_compacted(run.settings.kafka, table.topic, f"{table.name}.toml")
        if self.is_dry:
            subject = _open(run, self.feeds[table.name], self.watermarks)
            plan = self._plan(run, subject) if subject else None
            return Rebuilt(table.name, "planned" if plan else "idle", self.source, plan)
        with writers.writing(
            run, table, writers.Requirements(table, fixed_parts=False, iceberg=False)
        ) as writer:
            subject = _open(run, self.feeds[table.name], self.watermarks)
            if subject is None:
                return Rebuilt(table.name, "idle", self.source)
            with noted(run, table, self.source):
                return self._rebuild(writer, subject)

    def finish(
        self, run: Context, table: TableConfig, result: Rebuilt | IngestError, seconds: float
    ) -> Rebuilt:
        """Make a result of an error, too."""
        run.progress(table.name, "idle")
        if isinstance(result, IngestError):
            result = Rebuilt(table.name, failure_of(result), self.source, error=result)
        return attrs.evolve(result, seconds=seconds)

    def _plan(self, run: Context, subject: _Table) -> RebuildPlan | None:
        """Return a rebuild's plan, or None without changes.  Raises RebuildError for one that must fail."""
        changes = subject.changes.all
        if not changes:
            return None
        run.step(subject.config, "planning its rebuild")
        plan = plan_rebuild(subject.config, subject.stored, free_by_hadoop(run), changes)
        if plan.needed_source == "topic" and self.source == "table":
            lost = next(change for change in changes if change.needs_topic)
            raise RebuildError(
                subject.config.name,
                f"{lost}: the table does not have the values of the source any more",
                f"Read them from the topic: `{plan.command}`",
            )
        plan.check_disk()
        _folders(run, subject.config, plan)
        return plan

    def _rebuild(self, writer: "writers.Writer", subject: _Table) -> Rebuilt:
        run, table, stored = writer.run, subject.config, subject.stored
        if subject.changes.is_whole and not subject.changes.recorded:
            writer.begin_commit()
            rebuild.complete(stored, table, subject.key_columns)
            outcome: RebuildOutcome = "rebuilt" if subject.changes.properties else "idle"
            return Rebuilt(table.name, outcome, self.source, instant=subject.last.instant)
        plan = self._plan(run, subject)
        if plan is None:
            return Rebuilt(table.name, "idle", self.source)
        run.step(table, f"reading {plan.rows:,} rows")
        with self._rows(run, subject, plan) as new:
            run.step(table, f"writing {plan.rows:,} rows")
            writer.begin_commit()
            entry = _entry(run, subject, plan, new.entry, self.source)
            rewritten = rebuild.Rewrite(new.rows, table, subject.key_columns, entry)
            folders = _folders(run, table, plan)
            if folders is None:
                committed = rebuild.rewrite(stored, rewritten)
            else:
                committed = rebuild.rewrite_copy(stored, rewritten, folders, writer.begin_commit)
        rows = plan.rows if self.source == "table" else run.lake.table(table).count_rows()
        return Rebuilt(table.name, "rebuilt", self.source, plan, committed.instant, rows)

    @contextmanager
    def _rows(self, run: Context, subject: _Table, plan: RebuildPlan) -> "Iterator[NewRows]":
        """Return the rows to write, which are valid until the context ends."""
        last = subject.last
        if self.source == "table":
            keys = subject.key_columns
            yield rebuild_rows.rows_of_table(subject.stored, subject.feeds[0], keys, last, plan.changes)
            return
        topics = [_applied(run, feed, last, self.watermarks) for feed in _read_feeds(subject)]
        with rebuild_rows.rows_of_topics(run, last, topics) as new:
            yield new


def _read_feeds(subject: _Table) -> tuple[Feed, ...]:
    """Return the feeds by the topics that a table has read, in the order of its file.

    Raises RebuildError if it has rows of another one.
    """
    if not subject.config.topics:
        return subject.feeds
    others = set(subject.last.topics).difference(feed.topic for feed in subject.feeds)
    if others:
        problem = f"it has rows of topics that its file does not name: {first_few(sorted(others))}"
        raise RebuildError(subject.config.name, problem, "Add them to its topics")
    return tuple(feed for feed in subject.feeds if feed.topic in subject.last.topics)


def _applied(run: Context, feed: Feed, last: LedgerEntry, watermarks: Watermarks) -> "AppliedTopic":
    """Return the messages of a topic that a table has applied.  Raises RebuildError if they are gone."""
    marks = watermarks.of(feed.topic)
    ranges = whole_ranges(feed, last.seen_by(feed.topic), marks)
    return rebuild_rows.AppliedTopic(feed, ranges, _schemas(run, feed, last, marks))


def _schemas(
    run: Context, feed: Feed, last: LedgerEntry, marks: Mapping[Partition, Watermark]
) -> PayloadSchemas:
    """Return the schemas of the messages of a topic, and those that the table has met in others."""
    retained = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    keys, values = fetch_written(run.settings, run.registry, feed, retained, retained)
    if feed.table.source_table:
        return met_schemas(run.registry, values, known_ids(last))
    return keys, in_met_order(run.registry, feed, values, known_ids(last))


def _folders(run: Context, table: TableConfig, plan: RebuildPlan) -> "Folders | None":
    """Return the folders to exchange for other partitions or another version, or None for a rebuild in place.

    Raises RebuildError for a storage that cannot.
    """
    keys = [change.key.removeprefix("target.") for change in plan.changes if change.key in _EXCHANGED]
    if not keys:
        return None
    lake, default_fs = run.settings.lake, run.files.hadoop.default_fs
    folders = exchanging.find_folders(lake.table_path(table.name), lake.rebuild_path(table.name), default_fs)
    if not isinstance(folders, str):
        return folders
    raise RebuildError(
        table.name,
        f"another {keys[0]} needs a storage that exchanges two folders in one step ({lake.path}: {folders})",
        f"Set {keys[0]} back, or load a new table: change `table` in the file",
    )


def _open(run: Context, feeds: tuple[Feed, ...], watermarks: Watermarks) -> _Table | None:
    """Compare a table with its file, compiled by the registry's schemas, or return None before any commit."""
    feed, table = feeds[0], feeds[0].table
    marks = watermarks.of(feed.topic)
    check_hudi(table)
    stored = run.lake.table(table)
    last = stored.checkpoint()
    if last is None:
        return None
    run.step(table, "comparing it with its file")
    compiled = compile_written(feed, *_schemas(run, feed, last, marks))
    keys = compiled.record_key
    changes = stored.fixed_changes(table, keys)
    masks = find_mask_changes(compiled.masks, feed.masking.salt_id, last.masks, stored.columns() or ())
    changes = attrs.evolve(changes, recorded=(*changes.recorded, *masks))
    if not changes.is_whole:
        changes = _with_sample(stored, table, keys, changes)
    if "iceberg" in table.target.also and not changes.all:
        changes = attrs.evolve(changes, recorded=_for_iceberg(run, table))
    return _Table(feeds, stored, last, keys, changes)


def _for_iceberg(run: Context, table: TableConfig) -> tuple[FixedChange, ...]:
    """Return the change that writes all files again, if the Iceberg table cannot have the present ones."""
    files = run.iceberg.misfits(table)
    return (FixedChange("target.also", f"{len(files)} files with older types", "iceberg"),) if files else ()


def _with_sample(
    stored: "HudiTable", table: TableConfig, key_columns: tuple[str, ...], changes: FixedChanges
) -> FixedChanges:
    """Add the index or the buckets of a table of an older version, by a sample of its rows."""
    try:
        stored.check_key(table, key_columns)
    except TableChangedError as error:
        change = FixedChange(error.key, error.fixed, error.value)
        if change.key not in {known.key for known in changes.all}:
            return attrs.evolve(changes, recorded=(*changes.recorded, change))
    return changes


def _entry(
    run: Context, subject: _Table, plan: RebuildPlan, entry: LedgerEntry, source: Source
) -> LedgerEntry:
    """Return the account of a rebuild: the offsets of the commit before, and the changes as its note."""
    table = subject.config
    return attrs.evolve(
        entry,
        run_id=run.run_id,
        start_offsets=entry.next_offsets,
        counters={},
        kind="rebuild",
        note=f"rebuilt from the {source}: {', '.join(map(str, plan.changes))}",
        checked_options=options_digest(table) if table.hudi else "",
        instant=None,
    )


def rebuild_table(run: Context, table: TableConfig, source: Source, *, dry_run: bool) -> Rebuilt:
    """Rebuild a table by the fixed parts of its file.  An error is in the result."""
    feeds, watermarks = resolve(run, (table,))
    (result,) = work_on_tables(run, (table,), RebuildTask(source, dry_run, feeds, watermarks))
    return result
