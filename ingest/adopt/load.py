"""Fill an empty table from an export of its source, so that runs continue from a position of the source.

The rows carry that position.  Changes up to it lose against them, and later changes win.  It serves tables
that are too large for a snapshot by the connector.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

import attrs
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from ingest.adopt.columns import FittedColumns, fit_columns
from ingest.adopt.first_commit import (
    Marks,
    Subject,
    commit_first,
    expect_rows,
    first_entry,
    open_subject,
)
from ingest.adopt.jdbc import open_export
from ingest.adopt.plan import Takeover, TakeoverPlan, finished
from ingest.adopt.position import SourcePosition, lowest_position, parse_position, position_at
from ingest.adopt.request import LoadRequest
from ingest.adopt.rows import ForeignRows
from ingest.adopt.start import StartOffsets, start_by_option
from ingest.adopt.topic import check_gaps, check_positions, resolve_position
from ingest.errors import IngestError, TakeoverError, UsageError
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.storage.folders import open_folder
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import count_messages, offsets_text
from ingest.kafka.watermarks import Watermarks
from ingest.run.work.context import Context
from ingest.run.work.topics import refuse_several
from ingest.run.work.work import resolve, work_on_tables
from ingest.run.work.writer import Requirements, Writer, writing
from ingest.spark.java_errors import root_cause
from ingest.tables import TableConfig


@attrs.frozen
class LoadTask:
    """Loads tables (a `TableTask`)."""

    request: LoadRequest
    watermarks: Watermarks

    def by_files(self, run: Context, table: TableConfig) -> Takeover | None:
        """Return the result for a table that was already loaded from this export, or note the work."""
        if run.files.table(table).checkpoint():
            return self._idle(table, run.files.table(table).history())
        if self.request.position:  # the topic may be read for it
            run.waiting[table.name] = count_messages(self.watermarks.found.get(table.topic, {}))
        expect_rows(run, table, lambda: _export_bytes(run, self.request))
        return None

    def with_spark(self, run: Context, table: TableConfig) -> Takeover:
        """Load one table as its only writer, or plan it as a reader."""
        refuse_several(table, "ingest load")
        marks = self.watermarks.of(table.topic)
        required = Requirements(table, fixed_parts=False)
        with nullcontext() if self.request.dry_run else writing(run, table, required) as writer:
            return self._load(run, table, marks, writer)

    def finish(
        self, run: Context, table: TableConfig, result: Takeover | IngestError, seconds: float
    ) -> Takeover:
        """Return the final result, also of an error."""
        return finished(run, table, result, seconds)

    def _idle(self, table: TableConfig, accounts: tuple[LedgerEntry, ...]) -> Takeover:
        """Return the result for a table with commits.  Raises TakeoverError unless one loaded this export."""
        for entry in accounts:
            if entry.kind == "load" and entry.note.endswith(self.request.note):
                note = f"commit {entry.instant} loaded this export"
                return Takeover(table.name, "idle", instant=entry.instant, note=note)
        problem = f"the table has commits, the newest is {accounts[0].instant} ({accounts[0].kind})"
        todo = "Load into a table without any: move its folder away, or change `table` in the file"
        raise TakeoverError(table.name, problem, todo)

    def _load(self, run: Context, table: TableConfig, marks: Marks, writer: Writer | None) -> Takeover:
        stored, request = run.lake.table(table), self.request
        stored.refuse_foreign(table.name)
        if stored.checkpoint() is not None:
            return self._idle(table, stored.history())
        subject = open_subject(run, table, marks)
        start, parsed = _begin(run, subject, request)
        with _opened(run, subject, request) as rows:
            rows.check_columns()
            position = _position(run, subject, start, parsed, request.position)
            run.step(table, "checking the rows")
            plan = _plan(rows, start, request)
            if writer is None:
                return Takeover(table.name, "planned", plan)
            note = f"loaded {plan.rows:,} rows{request.note}"
            entry = first_entry(run, subject, start, "load", note)
            committed = commit_first(writer, rows, position, entry)
        return Takeover(table.name, "loaded", plan, committed.instant)


def _export_bytes(run: Context, request: LoadRequest) -> int:
    """Return the bytes of an export.  Raises UnclearFilesError or OSError if they are not known."""
    if request.kind != "parquet":
        raise UnclearFilesError(f"{request.origin} is a database")
    return sum(file.size for file in open_folder(request.origin, run.files.hadoop).data_files())


def _begin(
    run: Context, subject: Subject, request: LoadRequest
) -> tuple[StartOffsets, SourcePosition | None]:
    """Return the offsets of the first run, and the position as a person wrote it."""
    begins = {partition: mark.begin for partition, mark in subject.marks.items()}
    ends = {partition: mark.end for partition, mark in subject.marks.items()}
    start = StartOffsets(begins, ends, "the first message retained")
    if request.offsets:
        start = start_by_option(run.settings.kafka, subject.table, request.offsets, subject.marks)
    if not request.position:
        if not request.offsets:
            raise UsageError(
                "load: needs --position, --offsets, or both",
                "Give the position of the source at which the export began",
            )
        return start, None
    return start, parse_position(subject.compiled, request.position)


def _position(
    run: Context, subject: Subject, start: StartOffsets, parsed: SourcePosition | None, text: str
) -> str:
    """Return the position of the rows.  Reads the topic: changes after a given position must all be there."""
    if parsed is None:
        return lowest_position(run.spark, subject.compiled)
    check_positions(run, subject)
    resolved = resolve_position(run, subject, parsed)
    position = position_at(run.spark, subject.compiled, resolved)
    check_gaps(run, subject, position, text, start)
    return position


@contextmanager
def _opened(run: Context, subject: Subject, request: LoadRequest) -> Iterator[ForeignRows]:
    """Open the export and fit its columns."""
    if request.kind == "jdbc":
        with open_export(run, subject, request.origin, request.nulls) as (rows, fitted):
            yield ForeignRows(subject.compiled, rows, fitted)
        return
    rows = _read_parquet(run, subject, request.origin)
    yield ForeignRows(subject.compiled, rows, _fit(subject, rows, request))


def _fit(subject: Subject, rows: DataFrame, request: LoadRequest) -> FittedColumns:
    return fit_columns(
        subject.compiled, subject.plain, dict(rows.dtypes), request.nulls, accepts_physical=False
    )


def _read_parquet(run: Context, subject: Subject, path: str) -> DataFrame:
    try:
        return run.spark.read.parquet(path)
    except PySparkException as error:
        problem = f"{path} cannot be read as parquet: {root_cause(error)}"
        raise TakeoverError(
            subject.table.name, problem, "Name a file of parquet, or a folder of them"
        ) from error


def _plan(rows: ForeignRows, start: StartOffsets, request: LoadRequest) -> TakeoverPlan:
    position = request.position or "below every change"
    notes = (
        f"position of the rows: {position}",
        f"the next run starts at {offsets_text(start.next)}, by {start.origin}",
    )
    origin = f"{request.kind} {request.origin}"
    count = rows.check_values()
    return TakeoverPlan(
        rows.compiled.table.name, origin, count, rows.fitted, start, request.position, notes=notes
    )


def load_table(run: Context, table: TableConfig, request: LoadRequest) -> Takeover:
    """Fill an empty table from an export. An error becomes part of the result."""
    _, watermarks = resolve(run, (table,))
    (result,) = work_on_tables(run, (table,), LoadTask(request, watermarks))
    return result
