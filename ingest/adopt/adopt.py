"""Import a Hudi table written by another job, so that runs can continue from it.

HoodieStreamer's tables and hand-written ones differ from ours in columns, keys, versions and order of
changes.  So Hudi reads the rows, and they are written into a new table.  Readers see all of it at one moment.
The other table stays unchanged.
"""

from collections.abc import Callable, Sequence
from contextlib import nullcontext

import attrs

from ingest.adopt.columns import fit_columns
from ingest.adopt.first_commit import (
    Marks,
    Subject,
    commit_first,
    exchanged_folders,
    expect_rows,
    first_entry,
    open_subject,
    replace_foreign,
)
from ingest.adopt.plan import Takeover, TakeoverPlan, finished
from ingest.adopt.position import lowest_position
from ingest.adopt.request import AdoptRequest
from ingest.adopt.rows import ForeignRows
from ingest.adopt.start import StartOffsets, start_by_checkpoint, start_by_option
from ingest.errors import IngestError, TakeoverError
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.kafka.breaks import offsets_text
from ingest.kafka.watermarks import Watermarks
from ingest.operations.rebuild.rebuild_plan import free_by_hadoop
from ingest.run.work.context import Context
from ingest.run.work.topics import refuse_several
from ingest.run.work.work import resolve, work_on_tables
from ingest.run.work.writer import Requirements, Writer, writing
from ingest.tables import TableConfig


@attrs.frozen
class AdoptTask:
    """Adopts tables (a `TableTask`)."""

    request: AdoptRequest
    watermarks: Watermarks

    def by_files(self, run: Context, table: TableConfig) -> Takeover | None:
        """Return the result for a table of `ingest`. Hudi's classes read others, whose size is noted."""
        last = run.files.table(table).checkpoint()
        if last is not None:
            return _idle(table, last)
        foreign = run.files.at(self._path(run, table))
        expect_rows(run, table, lambda: foreign.size().newest_bytes)
        return None

    def with_spark(self, run: Context, table: TableConfig) -> Takeover:
        """Adopt one table as its only writer, or plan it as a reader."""
        refuse_several(table, "ingest adopt")
        marks = self.watermarks.of(table.topic)
        required = Requirements(table, fixed_parts=False, commits=bool(self.request.path))
        with nullcontext() if self.request.dry_run else writing(run, table, required) as writer:
            return self._adopt(run, table, marks, writer)

    def finish(
        self, run: Context, table: TableConfig, result: Takeover | IngestError, seconds: float
    ) -> Takeover:
        """Return the final result, also of an error."""
        return finished(run, table, result, seconds)

    def _adopt(self, run: Context, table: TableConfig, marks: Marks, writer: Writer | None) -> Takeover:
        last = run.lake.table(table).checkpoint()
        if last is not None:
            return _idle(table, last)
        is_in_place = not self.request.path
        if not is_in_place:
            run.lake.table(table).refuse_foreign(table.name)
        foreign = HudiTable(run.spark, self._path(run, table))
        commits = _commits(table, foreign)
        foreign.check_files()
        if is_in_place:
            exchanged_folders(run, table)
        subject = open_subject(run, table, marks)
        start = self._start(run, subject, commits)
        rows = self._rows(subject, foreign)
        rows.check_columns()
        run.step(table, "checking its rows")
        plan = _plan(run, rows, foreign, start)
        plan.check_disk()
        if writer is None:
            return Takeover(table.name, "planned", plan)
        note = (
            f"adopted {plan.rows:,} rows of {foreign.path} at its commit {commits[0].instant}; {start.origin}"
        )
        entry = first_entry(run, subject, start, "adopt", note)
        position = lowest_position(run.spark, subject.compiled)
        if is_in_place:
            unchanged = _unchanged(table, foreign, commits)
            committed = replace_foreign(writer, rows, position, entry, unchanged)
        else:
            committed = commit_first(writer, rows, position, entry)
        return Takeover(table.name, "adopted", plan, committed.instant)

    def _path(self, run: Context, table: TableConfig) -> str:
        return self.request.path or run.settings.lake.table_path(table.name)

    def _start(self, run: Context, subject: Subject, commits: Sequence[StoredCommit]) -> StartOffsets:
        if self.request.offsets:
            return start_by_option(run.settings.kafka, subject.table, self.request.offsets, subject.marks)
        return start_by_checkpoint(subject.table, (commit.values for commit in commits), subject.marks)

    def _rows(self, subject: Subject, foreign: HudiTable) -> ForeignRows:
        rows = foreign.rows()
        fitted = fit_columns(
            subject.compiled, subject.plain, dict(rows.dtypes), self.request.nulls, accepts_physical=True
        )
        return ForeignRows(subject.compiled, rows, fitted)


def _idle(table: TableConfig, last: LedgerEntry) -> Takeover:
    note = f"its newest commit {last.instant} is one of ingest ({last.kind})"
    return Takeover(table.name, "idle", instant=last.instant, note=note)


def _commits(table: TableConfig, foreign: HudiTable) -> Sequence[StoredCommit]:
    """Return the commits of another writer's table, newest first.  Raises TakeoverError without any."""
    commits = foreign.commits(archived=True)
    if not commits:
        problem = f"{foreign.path} does not hold a Hudi table with a commit"
        raise TakeoverError(table.name, problem, "Name its folder: --path")
    return commits


def _unchanged(table: TableConfig, foreign: HudiTable, commits: Sequence[StoredCommit]) -> Callable[[], None]:
    """Return a check that the other writer has not committed since its rows were read."""

    def check() -> None:
        foreign.reopen()
        newest = _commits(table, foreign)[0].instant
        if newest != commits[0].instant:
            problem = f"its writer committed {newest} meanwhile"
            raise TakeoverError(table.name, problem, "Stop that job permanently first")

    return check


def _plan(run: Context, rows: ForeignRows, foreign: HudiTable, start: StartOffsets) -> TakeoverPlan:
    table = rows.compiled.table
    size = foreign.data_size()
    free = free_by_hadoop(run)(foreign.path)
    count = rows.check_values()
    return TakeoverPlan(
        table.name, foreign.path, count, rows.fitted, start, bytes=size, free_bytes=free,
        notes=(f"the next run continues from {offsets_text(start.next)}, by {start.origin}",),
    )  # fmt: skip


def adopt_table(run: Context, table: TableConfig, request: AdoptRequest) -> Takeover:
    """Import the rows of another writer's Hudi table. An error becomes part of the result."""
    _, watermarks = resolve(run, (table,))
    (result,) = work_on_tables(run, (table,), AdoptTask(request, watermarks))
    return result
