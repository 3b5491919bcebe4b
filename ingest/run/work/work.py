"""Work on many tables: first without a JVM, by their files.  Spark starts for the tables that need it."""

from collections.abc import Container, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import TypeVar

from ingest.errors import StoppedError
from ingest.kafka.watermarks import Watermarks
from ingest.run.work import fleet
from ingest.run.work.beside import Beside
from ingest.run.work.by_files import answer_by_files, await_writers
from ingest.run.work.context import Context, TableTask
from ingest.run.work.topics import FeedsByTable, find_feeds, watermarks_of
from ingest.stop import listening
from ingest.tables import TableConfig

T = TypeVar("T")


def resolve(run: Context, tables: Sequence[TableConfig]) -> tuple[FeedsByTable, Watermarks]:
    """Return the feeds of tables, with the topics that match their patterns now, and the ends of all."""
    with run.steps.during("", "plan"):
        feeds = find_feeds(run.settings, tables)
        return feeds, watermarks_of(run.settings.kafka, feeds)


def work_on_tables(
    run: Context, tables: Sequence[TableConfig], task: TableTask[T], *, asks_registry: bool = True
) -> tuple[T, ...]:
    """Work on every table.  Return the results in the tables' order.

    Raises only errors that concern all tables.  A SIGTERM or SIGINT ends the work in order.  A round of
    `--follow` has no results of tables with a backlog that are still at work.
    """
    beside = run.beside or Beside()
    results: dict[str, T] = beside.begin(run)  # type: ignore[assignment]
    free = _without(tables, results.keys() | beside.names())
    with run.steps.during("", "plan"), listening(run.stop):
        results |= answer_by_files(run, task, free) if run.settings.spark.internals else {}
        results |= await_writers(run, task, _without(free, results))
    remaining = _without(free, results)
    if remaining and not run.stop.signal:
        _open(run, asks_registry=asks_registry)
        remaining = _oldest_first(run, beside.take(run, task, remaining))
        worked = fleet.Fleet(run, task).run_all(remaining)
        results |= {table.name: result for table, result in zip(remaining, worked, strict=True)}
    if run.stop.signal:
        results |= beside.end(run.stop)  # type: ignore[arg-type]
        results |= _stopped(run, task, _without(free, results))
    if run.raises_signal:
        run.stop.raise_signal()
    return tuple(results[table.name] for table in tables if table.name in results)


def _without(tables: Sequence[TableConfig], names: Container[str]) -> list[TableConfig]:
    """Return the tables without those of some names."""
    return [table for table in tables if table.name not in names]


def _oldest_first(run: Context, tables: Sequence[TableConfig]) -> list[TableConfig]:
    """Return the tables by their last commits: one that rarely has news does not wait for busy ones."""
    never = datetime.min.replace(tzinfo=UTC)
    return sorted(tables, key=lambda table: run.committed.get(table.name, never))


def _stopped(run: Context, task: TableTask[T], tables: Sequence[TableConfig]) -> dict[str, T]:
    """Return the results of tables that a signal stopped before their work."""
    errors = ((table, StoppedError(table.name, run.stop.signal)) for table in tables)
    return {table.name: task.finish(run, table, error, 0.0) for table, error in errors}


def _open(run: Context, *, asks_registry: bool) -> None:
    """Load the registry's client while the JVM starts.  An error of either concerns all tables."""
    if not asks_registry:
        _ = run.spark
        return
    with ThreadPoolExecutor(1, "registry") as pool:
        registry = pool.submit(lambda: run.registry)
        _ = run.spark
        registry.result()
