"""All that is known of tables without a JVM, part by part: a part that cannot be read says why."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeVar

import attrs

from ingest.compile.payload import WriterSchema
from ingest.errors import IngestError, LakeUnreachableError, RetryableError, TableFileError
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.folder_size import FolderSize
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.read_cost import ReadCost
from ingest.kafka.breaks import Watermark
from ingest.kafka.unread import unread_s
from ingest.kafka.watermarks import Watermarks
from ingest.names import Partition, Subject, Topic
from ingest.operations.rejects.rejects_view import StoredRejects, read_rejects, rejects_by_files
from ingest.operations.status.ahead import look_ahead
from ingest.operations.status.history import Commit, in_order
from ingest.operations.status.row_memory import count_rows
from ingest.operations.status.schema_history import (
    ColumnFacts,
    TableChange,
    VersionChange,
    column_facts,
    newest_columns,
    table_changes,
    version_changes,
)
from ingest.operations.status.status import (
    TableStatus,
    combined,
    common,
    find_ends,
    read_cost,
    remembered,
)
from ingest.report.kept_runs import LastRun, read_outcomes
from ingest.run.batch.schemas import fetch_versions
from ingest.run.batch.start import last_of, pending
from ingest.run.work.by_files import PATIENCE_S, answer_by_files
from ingest.run.work.context import Context, TableTask
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import work_on_tables
from ingest.stop import listening
from ingest.tables import Feed, TableConfig

T = TypeVar("T")

_STATE_PARTS: Final = ("last commit", "commits", "table file", "files")
"""Parts without which the state of a table is not known."""
RUNS: Final = 30
"""Runs of a table to show at most."""
COMMITS: Final = 200
"""Commits of a table to show at most."""


@attrs.frozen
class Gap:
    """A part that could not be read, and the reason.  With `needs_spark`, Spark might read it."""

    part: str
    reason: str
    needs_spark: bool = False


@attrs.frozen
class TableOverview:
    """A table as far as it could be read: an unknown part is None, and has its reason in `gaps`."""

    status: TableStatus
    table: TableConfig | None = None
    """None for a table file that cannot be read."""
    commits: tuple[Commit, ...] = ()
    """The newest commits of the active timeline, newest first."""
    has_archive: bool = False
    ends: Mapping[Partition, Watermark] | None = None
    rejects: StoredRejects | None = None
    size: FolderSize | None = None
    columns: tuple[ColumnFacts, ...] = ()
    table_changes: tuple[TableChange, ...] = ()
    version_changes: tuple[VersionChange, ...] = ()
    gaps: tuple[Gap, ...] = ()
    runs: tuple[LastRun, ...] = ()
    """The outcomes of the last runs, newest first."""
    topics: "tuple[TableOverview, ...]" = ()
    """The overview of each topic, of a table of several."""

    @property
    def is_clear(self) -> bool:
        """Whether the table's own files could be read."""
        return not any(gap.part in _STATE_PARTS for gap in self.gaps if gap.needs_spark)


@attrs.frozen
class LakeOverview:
    """All tables of a deployment.  `problems` concern more than one table."""

    tables: tuple[TableOverview, ...]
    problems: tuple[str, ...] = ()


def read_overview(
    run: Context,
    tables: Sequence[TableConfig],
    broken: Sequence[TableFileError],
    *,
    with_spark: bool,
) -> LakeOverview:
    """Read tables by their files, and with Spark the parts that files do not answer, if that is wanted."""
    problems: list[str] = []
    feeds, watermarks = find_ends(run, tables)
    problems += [f"The lag is unknown: {error}" for error in common(watermarks)]
    task = TopicsTask[TableOverview](OverviewTask(watermarks, with_spark, problems), feeds)
    if with_spark:
        overviews = work_on_tables(run, tables, task, asks_registry=False)
    else:
        overviews = _read_files(run, tables, task)
    statuses = remembered(run.settings, feeds, [overview.status for overview in overviews], watermarks)
    outcomes = _outcomes(run, problems)
    known = (
        attrs.evolve(overview, status=status, runs=tuple(outcomes.get(status.table, ())))
        for overview, status in zip(overviews, statuses, strict=True)
    )
    return LakeOverview((*map(_of_broken_file, broken), *known), tuple(dict.fromkeys(problems)))


def _outcomes(run: Context, problems: list[str]) -> Mapping[str, Sequence[LastRun]]:
    """Return the last outcomes of each table, none if the state folder is damaged."""
    try:
        return read_outcomes(run.settings.state_dir, RUNS)
    except IngestError as damaged:
        problems.append(f"The last runs are unknown: {damaged}")
        return {}


def _read_files(
    run: Context, tables: Sequence[TableConfig], task: TableTask[TableOverview]
) -> tuple[TableOverview, ...]:
    """Read tables without a JVM.  A storage that does not answer in time is an error."""
    with listening(run.stop):
        results = answer_by_files(run, task, tables)
    run.stop.raise_signal()
    for table in tables:
        if table.name not in results:
            path = run.settings.lake.table_path(table.name)
            error = LakeUnreachableError(path, f"did not answer within {PATIENCE_S:.0f} s")
            results[table.name] = task.finish(run, table, error, 0.0)
    return tuple(results[table.name] for table in tables)


def _of_broken_file(error: TableFileError) -> TableOverview:
    stem = error.path.rpartition("/")[2].removesuffix(".toml")
    return TableOverview(TableStatus(stem, Topic(""), "", error=error))


@attrs.frozen
class OverviewTask:
    """Reads overviews of tables (a `TableTask`)."""

    watermarks: Watermarks
    uses_spark: bool
    problems: list[str]

    def by_files(self, run: Context, feed: Feed) -> TableOverview | None:
        """Read one table without a JVM, or return None if Spark is wanted and would know more."""
        parts = Parts()
        rejects = parts.read("rejects", lambda: rejects_by_files(run.files, feed.table))
        size = parts.read("size", run.files.table(feed.table).size)
        overview = _with_rest(self._read(run, feed, run.files.table(feed.table), parts), rejects, size, parts)
        needs_spark = any(gap.needs_spark for gap in parts.gaps) or (rejects and rejects.open is None)
        return None if self.uses_spark and needs_spark else overview

    def with_spark(self, run: Context, feed: Feed) -> TableOverview:
        """Read one table with Hudi's classes."""
        run.step(feed.table, "reading its commits and rejects")
        parts = Parts()
        size = parts.read("size", run.files.table(feed.table).size)
        rejects = parts.read("rejects", lambda: read_rejects(run, feed))
        return _with_rest(self._read(run, feed, run.lake.table(feed.table), parts), rejects, size, parts)

    def finish(
        self, run: Context, feed: Feed, result: TableOverview | IngestError, _: float
    ) -> TableOverview:
        """Make an overview of an error, too."""
        run.progress(feed.name, "idle")
        if isinstance(result, IngestError):
            path = run.settings.lake.table_path(feed.name)
            return TableOverview(TableStatus(feed.name, feed.topic, path, error=result), feed.table)
        return result

    def combine(self, table: TableConfig, results: Sequence[TableOverview]) -> TableOverview:
        """Return the overview of a table of several topics.  Only its status has the offsets of each."""
        gaps = dict.fromkeys(gap for overview in results for gap in overview.gaps)
        status = attrs.evolve(combined([overview.status for overview in results]), table=table.name)
        return attrs.evolve(results[0], table=table, status=status, topics=tuple(results), gaps=tuple(gaps))

    def _read(self, run: Context, feed: Feed, stored: StoredTable, parts: "Parts") -> TableOverview:
        last = parts.read("last commit", lambda: last_of(stored, feed))
        commits: tuple[Commit, ...] = ()
        if last is not None:
            commits = parts.read("commits", lambda: in_order(stored.commits())[:COMMITS]) or ()
        overview = TableOverview(
            self._status(run, feed, stored, last, parts),
            feed.table,
            commits,
            has_archive=parts.read("archive", stored.has_archive) or False,
            ends=self.watermarks.found.get(feed.topic),
        )
        return self._with_schemas(run, overview, feed, parts)

    def _status(
        self, run: Context, feed: Feed, stored: StoredTable, last: LedgerEntry | None, parts: "Parts"
    ) -> TableStatus:
        """Read the state of a table, with the error of the first part that a run would stop at."""
        marks = self.watermarks.found.get(feed.topic)
        parts.check(self.watermarks.errors.get(feed.topic))
        ranges = None
        if not parts.is_unknown("last commit"):
            parts.read("table file", lambda: stored.check_config(feed.table))
            if marks is not None:
                ranges = parts.read("lag", lambda: pending(feed, last, marks, None))
        rows, cost = None, ReadCost()
        if last is not None:
            parts.read("files", stored.check_files)
            after = run.files.table(feed.table)
            rows = parts.read("rows", lambda: count_rows(run, feed.table, stored, after))
            cost = parts.read("log files", lambda: read_cost(feed.table, stored)) or cost
        lag, lag_s = None, None
        if ranges is not None:
            lag, lag_s = ranges.span, parts.read("lag", lambda: unread_s(run.settings.kafka, ranges))
        error = parts.error
        return TableStatus(
            feed.name, feed.topic, stored.path, last, lag, rows, source_lag_s=lag_s, error=error, cost=cost
        )

    def _with_schemas(
        self, run: Context, overview: TableOverview, feed: Feed, parts: "Parts"
    ) -> TableOverview:
        """Add the columns of the table, and the source's columns if the registry answers."""
        commits, schemas = overview.commits, tuple[WriterSchema, ...]()
        if feed.subjects.value is None:
            parts.note("source types", "the schemas of this topic are in its messages")
        elif feed.table.source_table:
            parts.note("source types", "the subject has the schemas of several tables")
        elif any(problem.startswith(_NO_REGISTRY) for problem in self.problems):
            parts.note("source types", "the registry does not answer")
            parts.unclear = "the registry does not answer"
        else:
            subject = feed.subjects.value
            schemas = parts.read("source types", lambda: self._fetch(run, subject)) or ()
        stored = parts.read("columns", lambda: newest_columns(commits)) or {}
        newest = schemas[-1] if schemas else None
        last = overview.status.last
        ahead = None
        if schemas:
            ahead = parts.read("next version", lambda: look_ahead(run.registry, feed, last, {}))
        return attrs.evolve(
            overview,
            status=attrs.evolve(overview.status, ahead=ahead),
            columns=parts.read("columns", lambda: column_facts(feed.table, stored, newest)) or (),
            table_changes=parts.read("schema history", lambda: table_changes(commits)) or (),
            version_changes=parts.read("versions", lambda: version_changes(feed, schemas)) or (),
        )

    def _fetch(self, run: Context, subject: Subject) -> tuple[WriterSchema, ...]:
        """Fetch the versions of a subject.  If the registry does not answer, no other table asks it."""
        try:
            return fetch_versions(run.registry, subject)
        except RetryableError as error:
            self.problems.append(f"{_NO_REGISTRY}: {error}")
            raise


def _with_rest(
    overview: TableOverview, rejects: StoredRejects | None, size: FolderSize | None, parts: "Parts"
) -> TableOverview:
    """Add the parts that are read in two ways, and to the status what its health depends on."""
    whole = attrs.evolve(overview, rejects=rejects, size=size, gaps=tuple(parts.gaps))
    open_rejects = 0 if rejects is None else rejects.stored if rejects.open is None else rejects.open
    unclear = parts.unclear if whole.is_clear else "the files do not answer without Spark"
    return attrs.evolve(whole, status=attrs.evolve(overview.status, rejects=open_rejects, unclear=unclear))


_NO_REGISTRY: Final = "Source types are unknown"


@attrs.define
class Parts:
    """The parts of a table, each read for itself."""

    gaps: list[Gap] = attrs.Factory(list)
    error: IngestError | None = None
    """The worst error that a run would stop at, too."""
    unclear: str = ""
    """What did not answer about a part that a run might need."""

    def read(self, part: str, ask: Callable[[], T]) -> T | None:
        """Read a part, or note the reason if that fails."""
        try:
            return ask()
        except UnclearFilesError as unclear:
            self.gaps.append(Gap(part, str(unclear), needs_spark=True))
        except IngestError as error:
            self.gaps.append(Gap(part, str(error)))
            if part not in _SIDE_PARTS:
                self.check(error)
            elif isinstance(error, RetryableError):
                self.unclear = str(error)
        except Exception as error:  # noqa: BLE001  the other parts are still worth reading
            self.gaps.append(Gap(part, f"{type(error).__name__}: {error}", needs_spark=True))
        return None

    def check(self, error: IngestError | None) -> None:
        """Keep the worst error, the first of several."""
        if error is not None and (self.error is None or error.exit_code < self.error.exit_code):
            self.error = error

    def note(self, part: str, reason: str) -> None:
        """Note a part that is not read."""
        self.gaps.append(Gap(part, reason))

    def is_unknown(self, part: str) -> bool:
        """Tell whether a part could not be read."""
        return any(gap.part == part for gap in self.gaps)


_SIDE_PARTS: Final = (
    "source types", "columns", "schema history", "versions", "next version", "rejects", "size", "archive",
    "log files",
)  # fmt: skip
"""Parts that a run does not need, or reads in another way."""
