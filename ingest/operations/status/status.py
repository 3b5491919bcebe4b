"""Each table's last commit against its topic: rows, open rejects, lag."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final

import attrs

from ingest.errors import (
    BrokerRefusedError,
    BrokerUnreachableError,
    IngestError,
    LakeError,
    OffsetError,
    RetryableError,
    TableFileError,
)
from ingest.hudi import rejects as rejected
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.read_cost import ReadCost
from ingest.json_values import unstructure
from ingest.kafka.breaks import Watermark
from ingest.kafka.unread import unread_s
from ingest.kafka.watermarks import Watermarks
from ingest.names import Partition, Topic
from ingest.operations.status.advice import advise, advise_index, not_shown
from ingest.operations.status.ahead import NewestVersions, fetch_newest, look_ahead
from ingest.operations.status.connector import Connector, Connectors, find_connectors
from ingest.operations.status.last_verification import LastVerification, read_last
from ingest.operations.status.row_memory import count_rows
from ingest.operations.status.source_ddl import SourceChange, read_changes
from ingest.report import kept_runs
from ingest.report.lag import max_or_none, present, sum_or_none
from ingest.report.outcome import by_text
from ingest.report.result import TableResult, worst_error
from ingest.run.batch.start import last_of, pending
from ingest.run.work.context import Context
from ingest.run.work.topics import FeedsByTable, TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.settings import KafkaSettings, LakeSettings, Settings
from ingest.tables import Feed, TableConfig


@attrs.frozen
class TableStatus(TableResult):
    """A table's last commit against its topic.

    `lag` is in offsets, None for a topic without ends.  `source_lag_s` is the age of the
    oldest unread message in seconds, 0 without unread messages, None if it has no timestamp.
    """

    topic: Topic
    path: str
    last: LedgerEntry | None = None
    lag: int | None = None
    rows: int | None = None
    rejects: int = 0
    """Open rejects."""
    source_lag_s: float | None = None
    changes: tuple[SourceChange, ...] = ()
    """The newest schema changes at the source, if the table file names their topic."""
    warning: str = ""
    """Advice that can wait: buckets that have outgrown themselves."""
    last_run: kept_runs.LastRun | None = None
    """The outcome of the table's last run, as far as the state folder knows it."""
    verification: LastVerification | None = None
    """The last comparison with the source."""
    max_behind_s: float = 0.0
    """The limit of `source_lag_s`, 0 without one."""
    unclear: str = ""
    """Why the table's state is not known: its files, the registry or the broker do not tell it."""
    ahead: IngestError | None = None
    """The error at which a run stops once a message has the newest registered version."""
    connector: Connector | None = None
    """The connector of the topic, if the settings limit its silence."""
    cost: ReadCost = ReadCost()
    """The files that a snapshot read merges, always 0 for a copy-on-write table."""
    topics: "tuple[TableStatus, ...]" = attrs.field(default=(), kw_only=True)
    """The status of each topic, of a table of several.  `rows` counts the whole table's."""

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON."""
        last = self.last
        content = {
            "table": self.table,
            "topic": self.topic,
            "path": self.path,
            **{name: getattr(last, name, None) for name in ("instant", "kind", "note")},
            "offsets": self.offsets(),
            "lag": self.lag,
            "rows": self.rows,
            "rejects": self.rejects,
            "read_cost": self.cost if self.cost.log_files else None,
            "source_lag_s": self.source_lag_s,
            "max_behind_s": self.max_behind_s or None,
            "committed_at": last and last.committed_at,
            "max_source_ts": last and last.max_source_at,
            "schema_ids": last.schema_ids if last else (),
            "last_run": last.counters if last else {},
            "last_outcome": self.last_run,
            "verification": self.verification,
            "error": self.error,
            "warning": self.warning or None,
            "next_version": self.ahead,
            "connector": self.connector,
            "source_changes": self.changes,
            **({"topics": [_topic_json(topic) for topic in self.topics]} if self.topics else {}),
        }
        return {name: unstructure(value) for name, value in content.items()}

    def offsets(self) -> dict[str, int]:
        """Return the next offsets by partition, for several topics by topic and partition."""
        if not self.topics:
            return by_text(self.last.next_offsets) if self.last else {}
        return {
            f"{topic.topic}-{partition}": offset
            for topic in self.topics
            for partition, offset in topic.offsets().items()
        }


def _topic_json(status: TableStatus) -> dict[str, Any]:
    """Return the status of one topic of a table as JSON."""
    names = ("topic", "offsets", "lag", "rejects", "source_lag_s", "max_source_ts", "error")
    whole = status.to_json()
    return {name: whole[name] for name in names}


_UNCLEAR: Final = (UnclearFilesError, OSError, ValueError, LookupError, TypeError)
"""Exceptions of files that only Hudi's classes can read.  A count that is stopped raises others."""


@attrs.frozen
class StatusTask:
    """Reads the status of tables (a `TableTask`)."""

    watermarks: Watermarks
    newest: NewestVersions = attrs.Factory(dict)
    silent: list[str] = attrs.Factory(list)
    """The problem of a registry that does not answer: no other table asks it."""

    def with_spark(self, run: Context, feed: Feed) -> TableStatus:
        """Read one table's status, and its schema changes at the source.

        Its files answer all but the number of rows in most tables: Hudi's classes read the others.
        """
        run.step(feed.table, "reading its status")
        stored, after = run.lake.table(feed.table), run.files.table(feed.table)
        if run.settings.spark.internals and feed.name not in run.hanging:
            files = run.files.table(feed.table)
            count = partial(count_rows, run, feed.table, files, after, stored)
            with suppress(*_UNCLEAR):
                return self._read(run, feed, files, count, lambda: run.files.count_open(feed))
        count = partial(count_rows, run, feed.table, stored, after)
        return self._read(run, feed, stored, count, lambda: rejected.count_open(run.lake, feed))

    def by_files(self, run: Context, feed: Feed) -> TableStatus:
        """Read the same, without a JVM."""
        stored = run.files.table(feed.table)
        count = partial(count_rows, run, feed.table, stored, stored)
        return self._read(run, feed, stored, count, lambda: run.files.count_open(feed))

    def _read(
        self,
        run: Context,
        feed: Feed,
        stored: StoredTable,
        count: Callable[[], int],
        count_open: Callable[[], int],
    ) -> TableStatus:
        marks, error = self.watermarks.found.get(feed.topic), self.watermarks.errors.get(feed.topic)
        kafka = run.settings.kafka
        status = table_status(stored, feed, marks, error, count=count, count_open=count_open, kafka=kafka)
        try:
            changes = read_changes(run.settings, run.registry, feed) if feed.table.schema_changes else ()
            return self._with_ahead(run, feed, attrs.evolve(status, changes=changes))
        except IngestError as unreadable:
            return attrs.evolve(status, error=status.error or unreadable)

    def _with_ahead(self, run: Context, feed: Feed, status: TableStatus) -> TableStatus:
        """Look at the newest registered version, unless the state is unknown or worse already."""
        if status.error is not None:
            return status
        try:
            ahead = None if self.silent else look_ahead(run.registry, feed, status.last, self.newest)
        except RetryableError as error:
            self.silent.append(str(error))
            ahead = None
        return attrs.evolve(status, ahead=ahead, unclear=next(iter(self.silent), ""))

    def finish(self, run: Context, feed: Feed, result: TableStatus | IngestError, _: float) -> TableStatus:
        """Make a status of an error, too."""
        run.progress(feed.name, "idle")
        if isinstance(result, IngestError):
            return TableStatus(feed.name, feed.topic, run.settings.lake.table_path(feed.name), error=result)
        return result

    def combine(self, table: TableConfig, results: Sequence[TableStatus]) -> TableStatus:
        """Return the status of a table of several topics."""
        return attrs.evolve(combined(results), table=table.name)


def read_statuses(run: Context, tables: Sequence[TableConfig]) -> tuple[TableStatus, ...]:
    """Read the status of tables, all of their topics."""
    feeds, watermarks = find_ends(run, tables)
    newest = fetch_newest(run, chain.from_iterable(feeds.values()))
    found = work_on_tables(run, tables, TopicsTask(StatusTask(watermarks, newest=newest), feeds))
    return remembered(run.settings, feeds, found, watermarks)


def find_ends(run: Context, tables: Sequence[TableConfig]) -> tuple[FeedsByTable, Watermarks]:
    """Fetch the topics of patterns, and all ends.  An error of the broker is the error of every topic."""
    try:
        return resolve(run, tables)
    except IngestError as error:
        feeds = {table.name: run.feeds(table) for table in tables}
        topics = [feed.topic for several in feeds.values() for feed in several]
        return feeds, Watermarks({}, dict.fromkeys(topics, error))


def common(watermarks: Watermarks) -> tuple[IngestError, ...]:
    """Return the error that all topics have in common, if there is one."""
    errors = set(map(str, watermarks.errors.values()))
    return tuple(watermarks.errors.values())[:1] if len(errors) == 1 and not watermarks.found else ()


def remembered(
    settings: Settings, feeds: FeedsByTable, statuses: Sequence[TableStatus], watermarks: Watermarks
) -> tuple[TableStatus, ...]:
    """Add the limits, what the state folder knows of the last run and verification, and the connectors.

    `statuses` are in the order of `feeds`.  A broker that does not answer is not asked again.
    """
    connectors = Connectors() if common(watermarks) else find_connectors(settings, feeds)
    return tuple(
        _remembered(settings, several, status, connectors)
        for several, status in zip(feeds.values(), statuses, strict=True)
    )


def _remembered(
    settings: Settings, feeds: Sequence[Feed], status: TableStatus, connectors: Connectors
) -> TableStatus:
    folder, limit_s = settings.state_dir, feeds[0].table.freshness.max_behind
    limit_s = settings.freshness.max_behind if limit_s is None else limit_s
    unclear = status.unclear or (str(connectors.error) if connectors.error else "")
    status = attrs.evolve(status, max_behind_s=limit_s, connector=connectors.of(feeds), unclear=unclear)
    try:
        last_run, verification = kept_runs.read_outcome(folder, status.table), read_last(folder, status.table)
    except IngestError as damaged:
        return attrs.evolve(status, unclear=str(damaged))
    return attrs.evolve(status, last_run=last_run, verification=verification)


def of_broken_file(lake: LakeSettings, error: TableFileError) -> TableStatus:
    """Return the status of a table with a broken file."""
    return TableStatus(error.table, Topic(""), lake.table_path(error.table), error=error)


def combined(statuses: Sequence[TableStatus]) -> TableStatus:
    """Return the status of a table of several topics: sums, the longest lag, the worst error."""
    known = [status for status in statuses if status.last and not status.error] or list(statuses)
    last, commits = known[0].last, present(status.last for status in statuses)
    newest = max(present(commit.max_source_ms for commit in commits), default=None)
    return attrs.evolve(
        known[0],
        last=attrs.evolve(last, max_source_ms=newest) if last else None,
        topic=Topic(",".join(status.topic for status in statuses)),
        lag=sum_or_none(status.lag for status in statuses),
        rejects=sum(status.rejects for status in statuses),
        source_lag_s=max_or_none(status.source_lag_s for status in statuses),
        error=worst_error(statuses),
        unclear=max(status.unclear for status in statuses),
        ahead=next(iter(present(status.ahead for status in statuses)), None),
        topics=tuple(statuses),
    )


def table_status(
    stored: StoredTable,
    feed: Feed,
    marks: Mapping[Partition, Watermark] | None,
    error: IngestError | None,
    *,
    count: Callable[[], int],
    count_open: Callable[[], int],
    kafka: KafkaSettings,
) -> TableStatus:
    """Read the status of one table.  `marks` are None, with an `error`, if its topic has no ends."""
    stored.check_config(feed.table)
    last = last_of(stored, feed)
    lag = lag_s = None
    if marks is not None:
        try:
            ranges = pending(feed, last, marks, None)
            lag, lag_s = ranges.span, unread_s(kafka, ranges)
        except (OffsetError, BrokerUnreachableError, BrokerRefusedError) as broken:
            error = broken
    if error is None or isinstance(error, RetryableError):
        error = _damage(stored) or error
    return TableStatus(
        feed.name,
        feed.topic,
        stored.path,
        last,
        lag,
        rows=None if last is None or isinstance(error, LakeError) else count(),
        rejects=count_open() if last else 0,
        source_lag_s=lag_s,
        error=error,
        cost=read_cost(feed.table, stored) if last and error is None else ReadCost(),
        warning=_advice(feed.table, stored) if last and error is None else "",
    )


def _damage(stored: StoredTable) -> IngestError | None:
    """Return the error of files that the newest commits wrote and storage lacks."""
    try:
        stored.check_files()
    except IngestError as error:
        return error
    return None


def read_cost(table: TableConfig, stored: StoredTable) -> ReadCost:
    """Return the files that a snapshot read of a table merges."""
    return stored.read_cost() if table.target.type == "mor" else ReadCost()


def _advice(table: TableConfig, stored: StoredTable) -> str:
    advice = advise(table, stored.largest_file(), stored.each_commit())
    index = advise_index(table, stored.data_size)
    return "; ".join(filter(None, (advice, index, *not_shown(table, stored.each_commit()))))
