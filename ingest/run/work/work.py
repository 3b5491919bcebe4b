"""Work on many tables: first without a JVM, by their files.  Spark starts for the tables that need it."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from ingest.errors import StoppedError
from ingest.kafka.watermarks import Watermarks
from ingest.run.work import fleet
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

    Raises only errors that concern all tables.  A SIGTERM or SIGINT ends the work in order.
    """
    with run.steps.during("", "plan"), listening(run.stop):
        results = answer_by_files(run, task, tables) if run.settings.spark.internals else {}
        results |= await_writers(run, task, [table for table in tables if table.name not in results])
    remaining = [table for table in tables if table.name not in results]
    if run.stop.signal:
        results |= {
            table.name: task.finish(run, table, StoppedError(table.name, run.stop.signal), 0.0)
            for table in remaining
        }
    elif remaining:
        _open(run, asks_registry=asks_registry)
        worked = fleet.Fleet(run, task).run_all(remaining)
        results |= {table.name: result for table, result in zip(remaining, worked, strict=True)}
    if run.raises_signal:
        run.stop.raise_signal()
    return tuple(results[table.name] for table in tables)


def _open(run: Context, *, asks_registry: bool) -> None:
    """Load the registry's client while the JVM starts.  An error of either concerns all tables."""
    if not asks_registry:
        _ = run.spark
        return
    with ThreadPoolExecutor(1, "registry") as pool:
        registry = pool.submit(lambda: run.registry)
        _ = run.spark
        registry.result()
