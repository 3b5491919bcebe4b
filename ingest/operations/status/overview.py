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
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import Watermarks
from ingest.moments import moment_or_none
from ingest.names import Partition, Subject, Topic
from ingest.operations.rejects.rejects_view import StoredRejects, read_rejects, rejects_by_files
from ingest.operations.status.history import Commit, in_order
from ingest.operations.status.last_verification import LastVerification, read_last
from ingest.operations.status.schema_history import (
    ColumnFacts,
    TableChange,
    VersionChange,
    column_facts,
    newest_columns,
    table_changes,
    version_changes,
)
from ingest.operations.status.status import TableStatus, combined
from ingest.report.lag import source_lag_s
from ingest.run.batch.schemas import fetch_versions
from ingest.run.batch.start import last_of, pending
from ingest.run.work.by_files import PATIENCE_S, answer_by_files
from ingest.run.work.context import Run, TableTask
from ingest.run.work.topics import FeedsByTable, TopicsTask, find_feeds, watermarks_of
from ingest.run.work.work import work_on_tables
from ingest.stop import listening
from ingest.tables import Feed, TableConfig

T = TypeVar("T")

_STATE_PARTS: Final = ("last commit", "commits", "table file", "files")
"""Parts without which the state of a table is not known."""
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
    verification: LastVerification | None = None
    gaps: tuple[Gap, ...] = ()
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
    run: Run,
    tables: Sequence[TableConfig],
    broken: Sequence[TableFileError],
    *,
    with_spark: bool,
) -> LakeOverview:
    """Read tables by their files, and with Spark the parts that files do not answer, if that is wanted."""
    problems: list[str] = []
    feeds, watermarks = _watermarks(run, tables, problems)
    task = TopicsTask[TableOverview](OverviewTask(watermarks, with_spark, problems), feeds)
    if with_spark:
        overviews = work_on_tables(run, tables, task, asks_registry=False)
    else:
        overviews = _read_files(run, tables, task)
    return LakeOverview((*map(_of_broken_file, broken), *overviews), tuple(dict.fromkeys(problems)))


def _read_files(
    run: Run, tables: Sequence[TableConfig], task: TableTask[TableOverview]
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


def _watermarks(
    run: Run, tables: Sequence[TableConfig], problems: list[str]
) -> tuple[FeedsByTable, Watermarks]:
    """Fetch the topics of patterns, and the ends of all topics.  Without the broker no topic has any."""
    try:
        feeds = find_feeds(run.settings, tables)
        return feeds, watermarks_of(run.settings.kafka, feeds)
    except IngestError as error:
        problems.append(f"The lag is unknown: {error}")
        return {table.name: run.feeds(table) for table in tables}, Watermarks({})


def _of_broken_file(error: TableFileError) -> TableOverview:
    stem = error.path.rpartition("/")[2].removesuffix(".toml")
    return TableOverview(TableStatus(stem, Topic(""), "", error=error))


@attrs.frozen
class OverviewTask:
    """Reads overviews of tables (a `TableTask`)."""

    watermarks: Watermarks
    uses_spark: bool
    problems: list[str]

    def by_files(self, run: Run, feed: Feed) -> TableOverview | None:
        """Read one table without a JVM, or return None if Spark is wanted and would know more."""
        parts = Parts()
        rejects = parts.read("rejects", lambda: rejects_by_files(run.files, feed.table))
        size = parts.read("size", run.files.table(feed.table).size)
        overview = self._read(run, feed, run.files.table(feed.table), parts)
        overview = attrs.evolve(overview, rejects=rejects, size=size, gaps=tuple(parts.gaps))
        needs_spark = any(gap.needs_spark for gap in parts.gaps) or (rejects and rejects.open is None)
        return None if self.uses_spark and needs_spark else overview

    def with_spark(self, run: Run, feed: Feed) -> TableOverview:
        """Read one table with Hudi's classes."""
        run.step(feed.table, "reading its commits and rejects")
        parts = Parts()
        size = parts.read("size", run.files.table(feed.table).size)
        rejects = parts.read("rejects", lambda: read_rejects(run, feed))
        overview = self._read(run, feed, run.lake.table(feed.table), parts)
        return attrs.evolve(overview, rejects=rejects, size=size, gaps=tuple(parts.gaps))

    def finish(self, run: Run, feed: Feed, result: TableOverview | IngestError, _: float) -> TableOverview:
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

    def _read(self, run: Run, feed: Feed, stored: StoredTable, parts: "Parts") -> TableOverview:
        last = parts.read("last commit", lambda: last_of(stored, feed))
        commits: tuple[Commit, ...] = ()
        if last is not None:
            commits = parts.read("commits", lambda: in_order(stored.commits())[:COMMITS]) or ()
        overview = TableOverview(
            self._status(feed, stored, last, parts),
            feed.table,
            commits,
            has_archive=parts.read("archive", stored.has_archive) or False,
            ends=self.watermarks.found.get(feed.topic),
            verification=parts.read("verification", lambda: read_last(run.settings.state_dir, feed.name)),
        )
        return self._with_schemas(run, overview, feed, parts)

    def _status(
        self, feed: Feed, stored: StoredTable, last: LedgerEntry | None, parts: "Parts"
    ) -> TableStatus:
        """Read the state of a table, with the error of the first part that a run would stop at."""
        marks = self.watermarks.found.get(feed.topic)
        parts.check(self.watermarks.errors.get(feed.topic))
        lag = None
        if not parts.is_unknown("last commit"):
            parts.read("table file", lambda: stored.check_config(feed.table))
            if marks is not None:
                lag = parts.read("lag", lambda: pending(feed, last, marks, None).span)
        rows = None
        if last is not None:
            parts.read("files", stored.check_files)
            rows = parts.read("rows", stored.count_rows)
        newest = moment_or_none(last.max_source_ms) if last else None
        lag_s, error = source_lag_s(newest, lag), parts.error
        return TableStatus(
            feed.name, feed.topic, stored.path, last, lag, rows, source_lag_s=lag_s, error=error
        )

    def _with_schemas(self, run: Run, overview: TableOverview, feed: Feed, parts: "Parts") -> TableOverview:
        """Add the columns of the table, and the source's columns if the registry answers."""
        commits, schemas = overview.commits, tuple[WriterSchema, ...]()
        if feed.subjects.value is None:
            parts.note("source types", "the schemas of this topic are in its messages")
        elif feed.table.source_table:
            parts.note("source types", "the subject has the schemas of several tables")
        elif any(problem.startswith(_NO_REGISTRY) for problem in self.problems):
            parts.note("source types", "the registry does not answer")
        else:
            subject = feed.subjects.value
            schemas = parts.read("source types", lambda: self._fetch(run, subject)) or ()
        stored = parts.read("columns", lambda: newest_columns(commits)) or {}
        newest = schemas[-1] if schemas else None
        return attrs.evolve(
            overview,
            columns=parts.read("columns", lambda: column_facts(feed.table, stored, newest)) or (),
            table_changes=parts.read("schema history", lambda: table_changes(commits)) or (),
            version_changes=parts.read("versions", lambda: version_changes(feed, schemas)) or (),
        )

    def _fetch(self, run: Run, subject: Subject) -> tuple[WriterSchema, ...]:
        """Fetch the versions of a subject.  If the registry does not answer, no other table asks it."""
        try:
            return fetch_versions(run.registry, subject)
        except RetryableError as error:
            self.problems.append(f"{_NO_REGISTRY}: {error}")
            raise


_NO_REGISTRY: Final = "Source types are unknown"


@attrs.define
class Parts:
    """The parts of a table, each read for itself."""

    gaps: list[Gap] = attrs.Factory(list)
    error: IngestError | None = None
    """The first error that a run would stop at, too."""

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
        except Exception as error:  # noqa: BLE001  the other parts are still worth reading
            self.gaps.append(Gap(part, f"{type(error).__name__}: {error}", needs_spark=True))
        return None

    def check(self, error: IngestError | None) -> None:
        """Keep the first error."""
        self.error = self.error or error

    def note(self, part: str, reason: str) -> None:
        """Note a part that is not read."""
        self.gaps.append(Gap(part, reason))

    def is_unknown(self, part: str) -> bool:
        """Tell whether a part could not be read."""
        return any(gap.part == part for gap in self.gaps)


_SIDE_PARTS: Final = (
    "source types", "columns", "schema history", "versions", "rejects", "size", "archive", "verification",
)  # fmt: skip
"""Parts that a run does not need, or reads in another way."""
