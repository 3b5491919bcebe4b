"""The Python API: one deployment, and the work on its tables."""

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Self

import attrs

from ingest.adopt import adopt as adopting
from ingest.adopt import load as loading
from ingest.adopt.request import AdoptRequest, LoadRequest
from ingest.errors import IngestError, JvmEndedError, TableFileError
from ingest.hudi import lake, lake_files
from ingest.names import Subject, Topic
from ingest.onboard import onboard as onboarding
from ingest.onboard import split as splitting
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.operations import maintain as maintaining
from ingest.operations import offsets, table_rows, versions
from ingest.operations import plan as planning
from ingest.operations import show as showing
from ingest.operations import signal as signals
from ingest.operations import verify_files as file_checks
from ingest.operations.doctor import doctor as doctors
from ingest.operations.pages import write as pages
from ingest.operations.rebuild import rebuild as rebuilding
from ingest.operations.rebuild import unfinished
from ingest.operations.rejects import rejects as dead_letters
from ingest.operations.rejects import replay as replaying
from ingest.operations.status import history as histories
from ingest.operations.status import overview as overviews
from ingest.operations.status import status as statuses
from ingest.operations.status.health import parse_bound
from ingest.registry import Registry, open_registry, suggesting
from ingest.report import kept_runs
from ingest.report import outcome as reports
from ingest.run import follow as following
from ingest.run import task
from ingest.run.batch import source_tables
from ingest.run.work import context, work
from ingest.settings import Settings
from ingest.settings import load as load_settings
from ingest.spark.driver import Driver
from ingest.stop import Stop
from ingest.tables import GLOB_SIGNS, Feed, Format, Reader, TableConfig, feeds, read_all, read_one, read_valid
from ingest.verify import task as verifying

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ingest import (
        Checkup,
        Comparison,
        CompatibilityReport,
        Description,
        FilesCheck,
        LakeOverview,
        Maintenance,
        OffsetMove,
        Progress,
        Rebuilt,
        Registered,
        Reject,
        Rejects,
        Replayed,
        Report,
        RunReport,
        Signal,
        SignalRequest,
        SubjectVersion,
        TableHistory,
        TablePlan,
        TableState,
        TableStatus,
        TableView,
        Takeover,
        Verification,
        VerifyRequest,
    )
    from ingest.compile.payload import WriterSchema
    from ingest.operations.rebuild.rebuild_plan import Source
    from ingest.run.batch.topic_tables import TopicTables
    from ingest.spark.stages import Stage


def silent(table: str, step: str) -> None:
    """Ignore a step: the default progress."""


class Session:
    """A deployment: its settings, registry, table files and Spark session.

    >>> from ingest import Session
    >>> session = Session.open("ingest.toml")  # doctest: +SKIP
    >>> report = session.run()  # doctest: +SKIP

    A context manager.  Leaving it stops the Spark session if this session started it.
    """

    def __init__(self, settings: Settings, spark: "SparkSession | None" = None) -> None:
        self.settings = settings
        self._driver = Driver(settings, spark)

    @classmethod
    def open(
        cls,
        path: "Path | str | None" = None,
        *,
        tables: "Path | str | None" = None,
        overrides: Mapping[str, object] | None = None,
        spark: "SparkSession | None" = None,
    ) -> Self:
        """Read the settings (see `ingest.settings.load`). The caller owns the session `spark`."""
        return cls(
            load_settings(
                None if path is None else Path(path),
                tables=None if tables is None else Path(tables),
                overrides=overrides,
            ),
            spark,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close.  Raises `JvmEndedError` if a call failed because the JVM has ended."""
        ended = isinstance(error, Exception) and self._driver.is_open and not self._driver.process.is_alive()
        cause = self._driver.process.cause() if ended else ""
        self.close()
        if ended and not isinstance(error, IngestError):
            raise JvmEndedError("", cause=cause) from error

    def close(self) -> None:
        """Close everything that this session opened."""
        if "registry" in self.__dict__:
            self.registry.close()
        self._driver.close()

    @cached_property
    def registry(self) -> Registry:
        """The registry, live or a folder."""
        return open_registry(self.settings.registry)

    @property
    def spark(self) -> "SparkSession":
        """The deployment's Spark session, in UTC. Spark starts on first use."""
        return self._driver.session

    def spark_stages(self) -> "Mapping[str, tuple[Stage, ...]]":
        """Return the active Spark stages by table, from any thread. Empty before Spark has started."""
        return self._driver.stages()

    def tables(self, names: Sequence[str] = ()) -> tuple[TableConfig, ...]:
        """Read the files of all tables, or of the named tables. A name may be a glob."""
        return read_all(self.settings.tables_dir, names, self.settings.defaults)

    def table(self, name: str) -> TableConfig:
        """Read the file of one table."""
        return read_one(self.settings.tables_dir, name, self.settings.defaults)

    def valid_tables(
        self, names: Sequence[str] = ()
    ) -> tuple[tuple[TableConfig, ...], tuple[TableFileError, ...]]:
        """Read the table files as `tables` does, and return the tables and the errors of broken files."""
        return read_valid(self.settings.tables_dir, names, self.settings.defaults)

    def find_table(self, name: str) -> TableConfig | None:
        """Return the table of that name, if there is one."""
        if not self.settings.tables_dir.is_dir():
            return None
        return next((table for table in self.valid_tables()[0] if table.name == name), None)

    def onboard(
        self,
        patterns: Sequence[str],
        *,
        name: str | None = None,
        format: Format = "avro",  # noqa: A002  the table file's word
        schema: "Path | str | None" = None,
        readers: Sequence[Reader] = (),
        append: bool = False,
        key: Sequence[str] = (),
        merge: bool = False,
        split: bool = False,
        exclude: Sequence[str] = (),
        check: bool = False,
        dry_run: bool = False,
        progress: "Progress" = silent,
    ) -> "tuple[Onboarded, ...]":
        """Write table files for the topics that match a glob (see `ingest.onboard.onboard`).

        `format` is the messages' format.  `schema` is a file for JSON messages without an embedded schema.
        `readers` replace `[onboard] readers` of the settings.
        With `append` every change becomes a separate row, and any topic of records a table.  `key` names the
        unique columns of topics without keys.  With `merge` topics of one table name become one table.  With
        `split` a topic becomes one table for each table that its messages name, read by Spark.  Topics that
        match a glob of `exclude` are skipped.  With `check` nothing is written, and files without a topic are
        reported as `orphaned`.
        """
        file, settings = None if schema is None else Path(schema), self.settings
        if readers:
            chosen = attrs.evolve(settings.onboard, readers=tuple(readers))
            settings = attrs.evolve(settings, onboard=chosen)
        options = OnboardOptions(name, format, file, append, tuple(key), merge, split, tuple(exclude), check)
        if not split:
            return onboarding.onboard(
                settings, self.registry, patterns, options, dry_run=dry_run, note=partial(progress, "")
            )
        run = self._run(progress)

        def read_tables(topic: Topic, values: "tuple[WriterSchema, ...]", messages: int) -> "TopicTables":
            return source_tables.read_tables(run, topic, values, messages)

        return splitting.onboard_split(
            settings, self.registry, patterns, options, read_tables, dry_run=dry_run
        )

    def adopt(
        self,
        name: str,
        request: AdoptRequest | None = None,
        *,
        progress: "Progress" = silent,
        stop: "Stop | None" = None,
    ) -> "Takeover":
        """Import a Hudi table written by another job (see `ingest.adopt.adopt`).

        Signals work as in `run`.  An error becomes part of the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        request = request or AdoptRequest()
        return adopting.adopt_table(run, table, request)

    def load(
        self, name: str, request: LoadRequest, *, progress: "Progress" = silent, stop: "Stop | None" = None
    ) -> "Takeover":
        """Fill an empty table from an export of its source (see `ingest.adopt.load`).

        Signals work as in `run`.  An error becomes part of the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        return loading.load_table(run, table, request)

    def show(self, name: str, *, rows: int | None = None, key: Sequence[str] = ()) -> "TableView":
        """Return the values that hold for a table, and its rows if asked for (see `operations.table_rows`).

        `rows` limits the rows, the newest first.  `key` names the rows of a key: its value, or `NAME=VALUE`
        for each of its columns.
        """
        table = self.table(name)
        view = showing.view_table(self.settings.lake, table)
        if rows is None and not key:
            return view
        found = table_rows.read_rows(self.spark, self.settings.lake, table, rows or table_rows.MOST_ROWS, key)
        return attrs.evolve(view, rows=found)

    def describe(self, subject: str, version: int | None = None) -> "tuple[Registered, Description]":
        """Describe a subject's version, the latest by default, column by column."""
        return versions.describe_version(self.registry, Subject(subject), version)

    def compare(self, name: str, old: int | None = None, new: int | None = None) -> "Comparison":
        """Compare two versions of a table's value subject, or of any subject: by default the last two."""
        table = self.find_table(name)
        subject = versions.value_subject(table) if table and table.subjects.value else Subject(name)
        with suggesting(self.registry, subject):
            return versions.compare(self.registry, subject, self._feed(table) if table else None, old, new)

    def history(self, name: str) -> "tuple[SubjectVersion, ...]":
        """Return the versions of a table's value subject, and the commits that read them."""
        table = self.table(name)
        subject = versions.value_subject(table)
        stored = lake.Lake(self.spark, self.settings.lake).table(table)
        return versions.history(self.registry, subject, stored.history())

    def check(
        self,
        name: str,
        file: "Path | str | None" = None,
        *,
        key: "Path | str | None" = None,
        registry_only: bool = False,
    ) -> "CompatibilityReport":
        """Check whether schemas could be the next versions of a table's value subject, key subject, or both.

        With `registry_only` the table is derived from the registered versions, without lake and Spark.
        """
        table = self.table(name)
        present = None
        if not registry_only:
            present = lake.Lake(self.spark, self.settings.lake).table(table).columns()
        value_file, key_file = (None if path is None else Path(path) for path in (file, key))
        return versions.check(self.registry, self._feed(table), value_file, present, key_file=key_file)

    def plan(
        self,
        names: Sequence[str] = (),
        *,
        max_offsets: int | None = None,
        progress: "Progress" = silent,
    ) -> "tuple[TablePlan, ...]":
        """Preview a run of tables, all or the named ones, without writing."""
        (tables, broken), run = self.valid_tables(names), self._run(progress, max_offsets)
        plans = planning.plan_tables(run, tables)
        plans = planning.with_missing_files(plans, lambda: self.valid_tables()[0])
        return (*plans, *map(planning.of_broken_file, broken))

    def run(
        self,
        names: Sequence[str] = (),
        *,
        max_offsets: int | None = None,
        progress: "Progress" = silent,
        stop: Stop | None = None,
    ) -> "RunReport":
        """Bring tables, all or the named ones, up to the ends of their topics.

        In the main thread a SIGTERM or SIGINT ends the run in order, and is raised again afterwards.  With a
        `stop` the signal only shows there and in the report.
        """
        (tables, broken), run = self.valid_tables(names), self._run(progress, max_offsets, stop)
        rebuild = partial(self._finish_rebuild, attrs.evolve(run, raises_signal=False))
        started = datetime.now(UTC)
        try:
            unfinished.finish_killed(run, tables, rebuild)
            report = task.run_tables(run, tables, broken)
        except IngestError as error:
            self._keep(reports.all_failed(run.run_id, started, tables, error, broken))
            raise
        if any(table.instant for table in report.tables):
            self._driver.leave_class_archive()
        report = reports.with_missing_files(report, lambda: self.valid_tables()[0])
        self._keep(report)
        return report

    def _keep(self, report: "RunReport") -> None:
        kept_runs.keep(self.settings.state_dir, report, self.settings.run.keep_runs)

    def runs(self) -> "Iterator[Report]":
        """Yield the reports of the last runs, the newest first (`[run] keep_runs`)."""
        return kept_runs.read_runs(self.settings.state_dir)

    def kept_run(self, run_id: str) -> "Report":
        """Return the report of one of the last runs. The beginning of its id is enough."""
        return kept_runs.read_run(self.settings.state_dir, run_id)

    def _finish_rebuild(
        self, run: "context.Context", table: TableConfig, source: "Source"
    ) -> IngestError | None:
        """Rebuild a table before its run, and return the error."""
        return rebuilding.rebuild_table(run, table, source, dry_run=False).error

    def follow(
        self,
        names: Sequence[str] = (),
        *,
        interval_s: float = 10.0,
        max_offsets: int | None = None,
        progress: "Progress" = silent,
    ) -> "Generator[RunReport, None, None]":
        """Start run after run until stopped, yielding each report (see `ingest.run.follow`)."""

        def run_once(stop: Stop) -> "RunReport":
            return self.run(names, max_offsets=max_offsets, progress=progress, stop=stop)

        return following.follow(run_once, interval_s)

    def maintain(
        self,
        names: Sequence[str] = (),
        *,
        dry_run: bool = False,
        progress: "Progress" = silent,
        stop: Stop | None = None,
    ) -> "Maintenance":
        """Compact, clean and archive tables, all or the named ones.

        With `dry_run` only report the work to do.  Signals work as in `run`.
        """
        (tables, broken), run = self.valid_tables(names), self._run(progress, stop=stop)
        return maintaining.maintain_tables(run, tables, broken, dry_run=dry_run)

    def rebuild(
        self,
        name: str,
        source: "Source" = "table",
        *,
        dry_run: bool = False,
        progress: "Progress" = silent,
        stop: Stop | None = None,
    ) -> "Rebuilt":
        """Rewrite a table after a change to its file (see `operations.rebuild`). Its offsets stay.

        `source` is `topic` if the table lacks the values to convert.  With `dry_run` only plan it.  Signals
        work as in `run`.  An error becomes part of the result.
        """
        table, run = self.table(name), self._run(progress, stop=stop)
        return rebuilding.rebuild_table(run, table, source, dry_run=dry_run)

    def status(
        self, names: Sequence[str] = (), *, progress: "Progress" = silent
    ) -> "tuple[TableStatus, ...]":
        """Return each table's last commit, rows and lag. A table's error becomes part of its status."""
        (tables, broken), run = self.valid_tables(names), self._run(progress)
        found = statuses.read_statuses(run, tables)
        return (*found, *(statuses.of_broken_file(self.settings.lake, error) for error in broken))

    def commits(
        self,
        name: str,
        *,
        since: datetime | None = None,
        archived: bool = False,
        progress: "Progress" = silent,
    ) -> "TableHistory":
        """Return a table's commits, newest first, without a JVM if the table's files suffice.

        `archived` adds those that Hudi has archived, with Spark.
        """
        table = self.table(name)
        return histories.read_history(self._run(progress), table, since, archived=archived)

    def verify(
        self,
        names: Sequence[str] = (),
        request: "VerifyRequest | None" = None,
        *,
        progress: "Progress" = silent,
    ) -> "Verification":
        """Compare tables, all or the named ones, with their sources (see `ingest.verify`)."""
        tables, broken = self.valid_tables(names)
        return verifying.verify_tables(
            self._run(progress),
            tables,
            lambda name: self.run([name]).tables[0],
            request or verifying.VerifyRequest(),
            broken,
        )

    def state_at(self, name: str, at: datetime, *, progress: "Progress" = silent) -> "TableState":
        """Return the commit that readers of a table saw at a time, its rows, and queries for that state."""
        table = self.table(name)
        return histories.read_state(self._run(progress), table, at)

    def report_html(
        self,
        folder: "Path | str",
        names: Sequence[str] = (),
        *,
        max_lag: str | None = None,
        with_spark: bool = False,
        progress: "Progress" = silent,
    ) -> "LakeOverview":
        """Write static pages of tables into a folder: `index.html`, and a page per table.

        Reads files without a JVM.  `with_spark` also reads the parts that need one.  Unreadable parts and
        broken table files are shown as such.  `max_lag` is the limit of the state `behind`.
        """
        bound = None if max_lag is None else parse_bound(max_lag)
        tables, broken = self.valid_tables(names)
        lake = overviews.read_overview(self._run(progress), tables, broken, with_spark=with_spark)
        pages.write_site(Path(folder), lake, self.settings, bound)
        return lake

    def doctor(self, *, spark: bool = False, note: "Callable[[str], None]" = lambda _: None) -> "Checkup":
        """Examine the deployment (see `operations.doctor`). `note` gets the name of each check."""
        return doctors.examine(self, note, spark=spark)

    def verify_files(
        self, names: Sequence[str] = (), *, reads_keys: bool = True, progress: "Progress" = silent
    ) -> "tuple[FilesCheck, ...]":
        """Check tables by themselves: files, offsets and, by Spark, keys (see `operations.verify_files`).

        Asks neither broker nor registry.  A table's error becomes part of its result.
        """
        (tables, broken), checks = self.valid_tables(names), file_checks.VerifyFilesTask(reads_keys)
        run = self._run(progress)
        found = work.work_on_tables(run, tables, checks, asks_registry=False)
        return (*found, *(file_checks.of_broken_file(self.settings.lake, error) for error in broken))

    def move_offsets(self, name: str, to: str, *, topic: str | None = None) -> "TableStatus":
        """Move a table's offsets by a commit in its history (see `operations.offsets.move_offsets`)."""
        return offsets.move_offsets(self._run(silent), self.table(name), to, topic)

    def preview_offsets(self, name: str, to: str, *, topic: str | None = None) -> "OffsetMove":
        """Return the effect of `move_offsets`, without writing."""
        table = self.table(name)
        (status,) = self.status([table.name])
        if status.last is None and status.error:
            raise status.error
        return offsets.preview_move(self.settings, table, status.last, to, topic)

    def rejects(self, name: str, *, limit: int = 50, resolved: bool = False) -> "Rejects":
        """Return a table's rejects, open or (`resolved`) all, by partition and offset."""
        table = self.table(name)
        return dead_letters.list_rejects(self.settings, self.spark, table, limit, resolved=resolved)

    def reject(self, name: str, partition: int, offset: int, *, topic: str | None = None) -> "Reject":
        """Return one reject, with its bytes."""
        table = self.table(name)
        return dead_letters.show_reject(self.settings, self.spark, table, partition, offset, topic=topic)

    def replay(
        self,
        name: str,
        *,
        partition: int | None = None,
        offset: int | None = None,
        topic: str | None = None,
        progress: "Progress" = silent,
    ) -> "Replayed":
        """Apply a table's open rejects again, all of them or one partition's (see `operations.rejects`)."""
        return replaying.replay(self._run(progress), self.table(name), partition, offset, topic)

    def purge(
        self, name: str, *, older_than_days: float = 0, resolved: bool = False, dry_run: bool = False
    ) -> int:
        """Delete a table's rejects, all or only the resolved ones, and return their number."""
        run, table = self._run(silent), self.table(name)
        return dead_letters.purge(
            run, table, older_than_days=older_than_days, resolved=resolved, dry_run=dry_run
        )

    def signal(self, request: "SignalRequest", topic: str | None = None) -> "Signal":
        """Make a Debezium signal (`operations.signal`), and produce it if a signal topic is given."""
        tables = self.tables(request.tables)
        if any(sign in name for name in request.tables for sign in GLOB_SIGNS):
            request = attrs.evolve(request, tables=tuple(table.name for table in tables))
        signal = signals.make_signal(tables, request, str(uuid.uuid4()))
        if topic is not None:
            signals.send(self.settings, Topic(topic), signal)
        return signal

    def _feed(self, table: TableConfig) -> Feed:
        """Return the feed of a table by its first topic."""
        return feeds(table, self.settings.masking.of_tables())[0]

    def _run(
        self, progress: "Progress", max_offsets: int | None = None, stop: Stop | None = None
    ) -> "context.Context":
        """Begin a command with a new id.  It raises a signal again unless the caller passes a `stop`."""
        files = lake_files.LakeFiles(self.settings.lake, self._driver.hadoop_settings())
        return context.Context(
            str(uuid.uuid4()), self.settings, files, self._driver, lambda: self.registry,
            max_offsets, progress, stop or Stop(), raises_signal=stop is None,
        )  # fmt: skip
