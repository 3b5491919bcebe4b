"""Each table's last commit against its topic: rows, open rejects, lag."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ingest.errors import IngestError, LakeError, OffsetError, TableFileError
from ingest.hudi import rejects as rejected
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import Watermark
from ingest.kafka.watermarks import Watermarks
from ingest.moments import iso_or_none, moment_or_none
from ingest.names import Partition, Topic
from ingest.operations.status.source_ddl import SourceChange, read_changes
from ingest.report.lag import max_or_none, present, source_lag_s, sum_or_none
from ingest.report.outcome import by_text
from ingest.report.result import TableResult, worst_error
from ingest.run.batch.start import last_of, pending
from ingest.run.work.context import Run
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.settings import LakeSettings
from ingest.tables import Feed, TableConfig

LIMIT_BYTES: Final = 512_000_000
"""From this size of a bucket's file, `ingest status` warns."""
_GOAL_BYTES: Final = 128_000_000
"""The size that the advised number of buckets gives: Parquet's own unit of reading, a row group."""
_MOST: Final = 4096
_MEGABYTE: Final = 1_000_000


@attrs.frozen
class TableStatus(TableResult):
    """A table's last commit against its topic.

    `lag` is in offsets, None for a topic without ends.  `source_lag_s` is in seconds, from the newest change
    in the table until now, 0 if nothing is pending, None if no change had a source time.
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
    topics: "tuple[TableStatus, ...]" = attrs.field(default=(), kw_only=True)
    """The status of each topic, of a table of several.  `rows` counts the whole table's."""

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON."""
        last = self.last
        return {
            "table": self.table,
            "topic": self.topic,
            "path": self.path,
            "instant": last.instant if last else None,
            "kind": last.kind if last else None,
            "note": last.note if last else None,
            "offsets": self.offsets(),
            "lag": self.lag,
            "rows": self.rows,
            "rejects": self.rejects,
            "source_lag_s": self.source_lag_s,
            "committed_at": iso_or_none(moment_or_none(last.committed_ms)) if last else None,
            "max_source_ts": iso_or_none(moment_or_none(last.max_source_ms)) if last else None,
            "schema_ids": list(last.schema_ids) if last else [],
            "last_run": dict(last.counters) if last else {},
            "error": str(self.error) if self.error else None,
            "warning": self.warning or None,
            "source_changes": [change.to_json() for change in self.changes],
            **({"topics": [_topic_json(topic) for topic in self.topics]} if self.topics else {}),
        }

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


@attrs.frozen
class StatusTask:
    """Reads the status of tables (a `TableTask`)."""

    watermarks: Watermarks

    def with_spark(self, run: Run, feed: Feed) -> TableStatus:
        """Read one table's status, and its schema changes at the source."""
        run.step(feed.table, "reading its status")
        return self._read(run, feed, run.lake.table(feed.table), lambda: rejected.count_open(run.lake, feed))

    def by_files(self, run: Run, feed: Feed) -> TableStatus:
        """Read the same, without a JVM."""
        return self._read(run, feed, run.files.table(feed.table), lambda: run.files.count_open(feed))

    def _read(self, run: Run, feed: Feed, stored: StoredTable, count_open: Callable[[], int]) -> TableStatus:
        marks, error = self.watermarks.found.get(feed.topic), self.watermarks.errors.get(feed.topic)
        status = table_status(stored, feed, marks, error, count_open)
        try:
            changes = read_changes(run.settings, run.registry, feed) if feed.table.schema_changes else ()
            return attrs.evolve(status, changes=changes)
        except IngestError as unreadable:
            return attrs.evolve(status, error=status.error or unreadable)

    def finish(self, run: Run, feed: Feed, result: TableStatus | IngestError, _: float) -> TableStatus:
        """Make a status of an error, too."""
        run.progress(feed.name, "idle")
        if isinstance(result, IngestError):
            return TableStatus(feed.name, feed.topic, run.settings.lake.table_path(feed.name), error=result)
        return result

    def combine(self, table: TableConfig, results: Sequence[TableStatus]) -> TableStatus:
        """Return the status of a table of several topics."""
        return attrs.evolve(combined(results), table=table.name)


def read_statuses(run: Run, tables: Sequence[TableConfig]) -> tuple[TableStatus, ...]:
    """Read the status of tables, all of their topics."""
    feeds, watermarks = resolve(run, tables)
    return work_on_tables(run, tables, TopicsTask(StatusTask(watermarks), feeds))


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
        topics=tuple(statuses),
    )


def table_status(
    stored: StoredTable,
    feed: Feed,
    marks: Mapping[Partition, Watermark] | None,
    error: IngestError | None,
    count_open: Callable[[], int],
) -> TableStatus:
    """Read the status of one table.  `marks` are None, with an `error`, if its topic has no ends."""
    stored.check_config(feed.table)
    last = last_of(stored, feed)
    lag = None
    if marks is not None:
        try:
            lag = pending(feed, last, marks, None).span
        except OffsetError as broken:
            error = broken
    error = error or _damage(stored)
    return TableStatus(
        feed.name,
        feed.topic,
        stored.path,
        last,
        lag,
        rows=None if last is None or isinstance(error, LakeError) else stored.count_rows(),
        rejects=count_open() if last else 0,
        source_lag_s=source_lag_s(moment_or_none(last.max_source_ms) if last else None, lag),
        error=error,
        warning=bucket_warning(feed.table, stored.largest_file()) if last and error is None else "",
    )


def _damage(stored: StoredTable) -> IngestError | None:
    """Return the error of files that the newest commits wrote and storage lacks."""
    try:
        stored.check_files()
    except IngestError as error:
        return error
    return None


def bucket_warning(table: TableConfig, largest_bytes: int) -> str:
    """Return the advice for a table whose largest base file has this size, empty if it is small enough.

    A copy-on-write commit rewrites every file that it touches.
    """
    buckets = table.target.buckets
    if table.target.index != "bucket" or largest_bytes < LIMIT_BYTES or buckets >= _MOST:
        return ""
    advised = buckets
    while advised < _MOST and largest_bytes * buckets > _GOAL_BYTES * advised:
        advised *= 2
    return (
        f"a bucket has grown to {largest_bytes / _MEGABYTE:,.0f} MB, which each commit may rewrite: set "
        f"[target] buckets = {min(advised, _MOST)} in place of {buckets}, then `ingest rebuild {table.name}`"
    )
