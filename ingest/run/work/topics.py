"""Work on tables of several topics: each topic by itself, in the order of the table file.

Each topic is a feed of the table, with its own commit and its own error.  The table has the sum of them.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Generic, Protocol, TypeVar

import attrs

from ingest.errors import IngestError, JvmEndedError, TableFileError, TopicNotFoundError, UsageError
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.topics import list_topics
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.names import Topic, first_few
from ingest.run.work import fleet
from ingest.run.work.context import Context
from ingest.settings import KafkaSettings, Settings
from ingest.tables import Feed, TableConfig, feed_of, is_pattern

T = TypeVar("T")
W = TypeVar("W")

FeedsByTable = Mapping[str, tuple[Feed, ...]]
"""The feeds of tables, by the name of the table."""


class TopicTask(Protocol[T]):
    """Work on the feeds of tables, and the sum of their results (see `TableTask`)."""

    def by_files(self, run: Context, feed: Feed) -> T | None:
        """Return the result of a feed that does without a JVM, or None."""

    def with_spark(self, run: Context, feed: Feed) -> T:
        """Return the result of a feed, in the table's thread."""

    def finish(self, run: Context, feed: Feed, result: T | IngestError, seconds: float, /) -> T:
        """Return the final result of a feed."""

    def combine(self, table: TableConfig, results: Sequence[T]) -> T:
        """Return the result of a table from its topics' results, in their order."""


@attrs.frozen
class _Worked(Generic[T]):
    """The result of one feed, before its task has finished it."""

    feed: Feed
    result: T | IngestError
    seconds: float


@attrs.frozen
class TopicsTask(Generic[T]):
    """Works on tables by one feed after the other (a `TableTask`)."""

    task: TopicTask[T]
    feeds: FeedsByTable
    stops: bool = False
    """Whether a topic that fails stops the others if the table file says so."""

    def by_files(self, run: Context, table: TableConfig) -> T | None:
        """Work on all feeds without a JVM, or return None if one needs a JVM."""
        if not table.topics:
            return self.task.by_files(run, self._only(table))
        last = run.files.table(table).checkpoint()
        worked = list(self._each(run, table, last, lambda feed: self._by_files(run, feed)))
        results = [topic for topic in worked if topic.result is not None]
        return self._sum(run, table, results) if len(results) == len(worked) else None  # type: ignore[arg-type]

    def with_spark(self, run: Context, table: TableConfig) -> T:
        """Work on all feeds.  An error of one is its result."""
        if not table.topics:
            return self.task.with_spark(run, self._only(table))
        last = run.lake.table(table).checkpoint()
        stops = self.stops and table.shards.failure == "stop"
        if stops:
            ahead = self._each(run, table, last, lambda feed: self._ahead(run, feed))
            failed = [topic for topic in ahead if isinstance(topic.result, IngestError)]
            if failed:
                return self._sum(run, table, failed)  # type: ignore[arg-type]
        worked: list[_Worked[T]] = []
        for topic in self._each(run, table, last, lambda feed: self._with_spark(run, feed)):
            worked.append(topic)
            if stops and isinstance(topic.result, IngestError):
                break
        return self._sum(run, table, worked)

    def finish(self, run: Context, table: TableConfig, result: T | IngestError, seconds: float) -> T:
        """Finish a table.  Its feeds are finished already if it has several."""
        if not table.topics:
            return self.task.finish(run, self._only(table), result, seconds)
        if isinstance(result, IngestError):
            return self._sum(run, table, [_Worked(feed, result, seconds) for feed in self.feeds[table.name]])
        return result

    def _only(self, table: TableConfig) -> Feed:
        (feed,) = self.feeds[table.name]
        return feed

    def _each(
        self,
        run: Context,
        table: TableConfig,
        last: LedgerEntry | None,
        work: Callable[[Feed], W | IngestError],
    ) -> Iterator[_Worked[W]]:
        """Work on each feed of a table.  A topic that it has read, and the broker lacks, is an error."""
        own = self.feeds[table.name]
        for feed in own:
            started = time.monotonic()
            result = work(feed)
            yield _Worked(feed, result, time.monotonic() - started)
        for feed in missing_feeds(own, last):
            yield _Worked(feed, TopicNotFoundError(feed.topic, run.settings.kafka.bootstrap_servers), 0.0)

    def _sum(self, run: Context, table: TableConfig, worked: Sequence[_Worked[T]]) -> T:
        results = [self.task.finish(run, topic.feed, topic.result, topic.seconds) for topic in worked]
        return self.task.combine(table, results)

    def _by_files(self, run: Context, feed: Feed) -> T | IngestError | None:
        try:
            return self.task.by_files(run, feed)
        except IngestError as error:
            return error

    def _ahead(self, run: Context, feed: Feed) -> T | IngestError | None:
        """Return the error of a topic that shows without reading its messages."""
        try:
            return self._by_files(run, feed)
        except Exception:  # noqa: BLE001  the files do not answer: the topic's own turn shows it
            return None

    def _with_spark(self, run: Context, feed: Feed) -> T | IngestError:
        try:
            return self.task.with_spark(run, feed)
        except Exception as error:
            meaning = fleet.explain(run, feed.table, error)
            if isinstance(meaning, JvmEndedError):
                raise meaning from error
            return meaning


def missing_feeds(present: Sequence[Feed], last: LedgerEntry | None) -> Iterator[Feed]:
    """Yield the feeds by topics that a table has read, that its patterns name, and the broker lacks."""
    table, topics = present[0].table, {feed.topic for feed in present}
    for topic in last.topics if last else ():
        if topic not in topics and matches(topic, table.topics):
            yield feed_of(table, topic, present[0].masking)


def refuse_several(table: TableConfig, command: str) -> None:
    """Raise UsageError for a table of several topics, or of a part of one, if a command works on one."""
    if table.topics:
        names = first_few(list[str](table.topics))
        raise UsageError(f"table {table.name} reads several topics ({names}), and `{command}` is for one")
    if table.source_table:
        whole = f"table {table.name} is one of several in topic {table.topic}"
        raise UsageError(f"{whole}, and `{command}` is for a topic of one table")


def matches(topic: Topic, patterns: Iterable[str]) -> bool:
    """Tell whether one of the patterns matches a topic."""
    return any(fnmatchcase(topic, pattern) for pattern in patterns)


def find_feeds(settings: Settings, tables: Sequence[TableConfig]) -> dict[str, tuple[Feed, ...]]:
    """Return the feeds of each table, by its name: of patterns by the topics that match them now.

    A pattern that matches no topic stays as a topic, of which `watermarks_of` has the error.
    """
    has_patterns = any(is_pattern(name) for table in tables for name in table.topics)
    present, masking = list_topics(settings.kafka) if has_patterns else (), settings.masking.of_tables()
    return {
        table.name: tuple(feed_of(table, topic, masking) for topic in _topics(table, present))
        for table in tables
    }


def _topics(table: TableConfig, present: Sequence[Topic]) -> tuple[Topic, ...]:
    """Return the topics of a table, with those that are present for its patterns."""
    topics: dict[Topic, None] = {}
    for name in table.topics or (table.topic,):
        matching = [topic for topic in present if matches(topic, [name])] if is_pattern(name) else [name]
        topics |= dict.fromkeys(matching or [name])
    return tuple(topics)


def watermarks_of(kafka: KafkaSettings, by_table: FeedsByTable) -> Watermarks:
    """Fetch the ends of the topics of all feeds.  A pattern without a topic has an error."""
    tables = {feed.topic: feed.table for own in by_table.values() for feed in own}
    marks = fetch_watermarks(kafka, [topic for topic in tables if not is_pattern(topic)])
    unmatched: Mapping[Topic, IngestError] = {
        topic: _unmatched(table, topic) for topic, table in tables.items() if is_pattern(topic)
    }
    return attrs.evolve(marks, errors={**marks.errors, **unmatched})


def _unmatched(table: TableConfig, pattern: str) -> TableFileError:
    todo = "Correct the pattern, or start the connector that writes such topics"
    return TableFileError(f"{table.name}.toml", "topics", f"no topic matches '{pattern}'", todo)
