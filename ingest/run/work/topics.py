"""Work on tables of several topics: each topic by itself, in the order of the table file.

A topic has its own view of the table, its own commit and its own error, and the table has the sum of them.
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
from ingest.run.work.context import Run, TableTask
from ingest.settings import KafkaSettings
from ingest.tables import TableConfig, is_pattern, view_of, views

T = TypeVar("T")


class TopicTask(TableTask[T], Protocol[T]):
    """Work on views of tables, and the sum of their results."""

    def combine(self, table: TableConfig, results: Sequence[T]) -> T:
        """Return the result of a table from its topics' results, in their order."""


@attrs.frozen
class _Worked(Generic[T]):
    """The result of one topic, before its task has finished it."""

    view: TableConfig
    result: T | IngestError
    seconds: float


@attrs.frozen
class TopicsTask(Generic[T]):
    """Works on tables by one topic after the other (a `TableTask`)."""

    task: TopicTask[T]
    stops: bool = False
    """Whether a topic that fails stops the others if the table file says so."""

    def by_files(self, run: Run, table: TableConfig) -> T | None:
        """Work on all topics without a JVM, or return None if a topic needs one."""
        if not table.topics:
            return self.task.by_files(run, table)
        last = run.files.table(table).checkpoint()
        worked = list(_each(table, last, lambda view: self._by_files(run, table, view)))
        results = [topic for topic in worked if topic.result is not None]
        return self._sum(run, table, results) if len(results) == len(worked) else None  # type: ignore[arg-type]

    def with_spark(self, run: Run, table: TableConfig) -> T:
        """Work on all topics.  An error of one is its result."""
        if not table.topics:
            return self.task.with_spark(run, table)
        last = run.lake.table(table).checkpoint()
        stops = self.stops and table.shards.failure == "stop"
        if stops:
            ahead = _each(table, last, lambda view: self._ahead(run, table, view))
            failed = [topic for topic in ahead if isinstance(topic.result, IngestError)]
            if failed:
                return self._sum(run, table, failed)  # type: ignore[arg-type]
        worked: list[_Worked[T]] = []
        for topic in _each(table, last, lambda view: self._with_spark(run, table, view)):
            worked.append(topic)
            if stops and isinstance(topic.result, IngestError):
                break
        return self._sum(run, table, worked)

    def finish(self, run: Run, table: TableConfig, result: T | IngestError, seconds: float) -> T:
        """Finish a table, whose topics are finished already."""
        if not table.topics:
            return self.task.finish(run, table, result, seconds)
        if isinstance(result, IngestError):
            return self._sum(run, table, [_Worked(view, result, seconds) for view in views(table)])
        return result

    def _sum(self, run: Run, table: TableConfig, worked: Sequence[_Worked[T]]) -> T:
        results = [self.task.finish(run, topic.view, topic.result, topic.seconds) for topic in worked]
        return self.task.combine(table, results)

    def _by_files(self, run: Run, table: TableConfig, view: TableConfig) -> T | IngestError | None:
        try:
            check_exists(run, table, view)
            return self.task.by_files(run, view)
        except IngestError as error:
            return error

    def _ahead(self, run: Run, table: TableConfig, view: TableConfig) -> T | IngestError | None:
        """Return the error of a topic that shows without reading its messages."""
        try:
            return self._by_files(run, table, view)
        except Exception:  # noqa: BLE001  the files do not answer: the topic's own turn shows it
            return None

    def _with_spark(self, run: Run, table: TableConfig, view: TableConfig) -> T | IngestError:
        try:
            check_exists(run, table, view)
            return self.task.with_spark(run, view)
        except Exception as error:
            meaning = fleet.explain(run, view, error)
            if isinstance(meaning, JvmEndedError):
                raise meaning from error
            return meaning


def _each(
    table: TableConfig, last: LedgerEntry | None, work: Callable[[TableConfig], T | IngestError]
) -> Iterator[_Worked[T]]:
    """Work on each view of a table, also on the topics that only the ledger names."""
    for view in (*views(table), *missing_views(table, last)):
        started = time.monotonic()
        result = work(view)
        yield _Worked(view, result, time.monotonic() - started)


def missing_views(table: TableConfig, last: LedgerEntry | None) -> Iterator[TableConfig]:
    """Yield the views of topics that the table has read, that its patterns name, and the broker lacks."""
    for topic in last.topics if last else ():
        if topic not in table.topics and matches(topic, table.patterns):
            yield view_of(table, topic)


def check_exists(run: Run, table: TableConfig, view: TableConfig) -> None:
    """Raise TopicNotFoundError for a topic that the table has read and the broker lacks now."""
    if view.topic not in table.topics:
        raise TopicNotFoundError(view.topic, run.settings.kafka.bootstrap_servers)


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


def resolved(kafka: KafkaSettings, tables: Sequence[TableConfig]) -> tuple[TableConfig, ...]:
    """Replace the patterns of table files by the topics that match them now.

    A pattern that matches no topic stays: `watermarks_of` has its error.
    """
    if not any(is_pattern(name) for table in tables for name in table.topics):
        return tuple(tables)
    present = list_topics(kafka)
    return tuple(_resolved(table, present) for table in tables)


def _resolved(table: TableConfig, present: Sequence[Topic]) -> TableConfig:
    topics: dict[Topic, None] = {}
    for name in table.topics:
        matching = [topic for topic in present if matches(topic, [name])] if is_pattern(name) else [name]
        topics |= dict.fromkeys(matching or [name])
    patterns = tuple(name for name in table.topics if is_pattern(name))
    return attrs.evolve(table, topics=tuple(topics), patterns=patterns)


def watermarks_of(kafka: KafkaSettings, tables: Sequence[TableConfig]) -> Watermarks:
    """Fetch the ends of the topics of all tables.  A pattern without a topic has an error."""
    topics = {view.topic: table for table in tables for view in views(table)}
    marks = fetch_watermarks(kafka, [topic for topic in topics if not is_pattern(topic)])
    unmatched: Mapping[Topic, IngestError] = {
        topic: _unmatched(table, topic) for topic, table in topics.items() if is_pattern(topic)
    }
    return attrs.evolve(marks, errors={**marks.errors, **unmatched})


def _unmatched(table: TableConfig, pattern: str) -> TableFileError:
    todo = "Correct the pattern, or start the connector that writes such topics"
    return TableFileError(f"{table.name}.toml", "topics", f"no topic matches '{pattern}'", todo)
