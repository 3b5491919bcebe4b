"""Work on tables without a JVM, several at a time.  A storage that hangs holds up no other table."""

import threading
import time
from collections import deque
from collections.abc import Sequence
from queue import Empty, SimpleQueue
from typing import Final, Generic, TypeVar

import attrs

from ingest.errors import IngestError, TableLockedError
from ingest.hudi.locks.lock_holder import describe_holder
from ingest.log import logger
from ingest.run.work.context import Context, TableTask
from ingest.tables import TableConfig

T = TypeVar("T")

THREADS: Final = 8
"""How many tables are at work at a time, apart from those of a storage that hangs."""
WAITS_S: Final = 0.005
"""After this time a table waits for its storage, and another one may begin.

A table on a local disk takes half of it.  Two of them at work would only wait for each other.
"""
_SLOW_S: Final = 1.0
"""After this time a storage may hang, and its table leaves its place among `THREADS` to another one."""
PATIENCE_S: Final = 30.0
"""After this time Spark takes the table, which knows how to cancel work."""
_TICK_S: Final = 0.1


@attrs.define(eq=False)
class _Attempt(Generic[T]):
    """A table at work.  `result` is None if only Hudi's classes can answer."""

    table: TableConfig
    started: float = attrs.field(factory=time.monotonic)
    result: T | IngestError | None = None


def answer_by_files(run: Context, task: TableTask[T], tables: Sequence[TableConfig]) -> dict[str, T]:
    """Return the results of the tables that do without a JVM.  Stop early after a signal."""
    patience_s = min(PATIENCE_S, run.settings.run.table_timeout_s or PATIENCE_S)
    waiting, active = deque(tables), list[_Attempt[T]]()
    done, results = SimpleQueue[_Attempt[T]](), dict[str, T]()
    while (waiting or active) and not run.stop.signal:
        if waiting and _may_begin(active):
            active.append(_start(run, task, waiting.popleft(), done))
        attempt = _next(done)
        if attempt in active and attempt.result is not None:
            seconds = time.monotonic() - attempt.started
            results[attempt.table.name] = task.finish(run, attempt.table, attempt.result, seconds)
        latest, others = time.monotonic() - patience_s, [other for other in active if other is not attempt]
        active = [other for other in others if other.started > latest]
        run.hanging.update(other.table.name for other in others if other.started <= latest)
    return results


def await_writers(run: Context, task: TableTask[T], tables: Sequence[TableConfig]) -> dict[str, T]:
    """Return the results of tables that other writers hold: Spark does not start only to wait for them.

    Waits `lock_wait_s` at most.  Tables that are free then are read once more.  Returns nothing if a table
    needs Spark anyway: the others wait there, next to its work.
    """
    if not tables or any(table.name not in run.holders for table in tables):
        return {}
    started = time.monotonic()
    for table in tables:
        run.progress(table.name, "waiting for another writer")
    while busy := [table for table in tables if run.note_holder(table)]:
        if run.stop.signal:
            return {}
        if time.monotonic() - started >= run.settings.run.lock_wait_s:
            break
        time.sleep(_TICK_S)
    seconds = time.monotonic() - started
    errors = [TableLockedError(table.name, describe_holder(run.holders[table.name])) for table in busy]
    results = {
        table.name: task.finish(run, table, error, seconds) for table, error in zip(busy, errors, strict=True)
    }
    return results | answer_by_files(run, task, [table for table in tables if table not in busy])


def _start(
    run: Context, task: TableTask[T], table: TableConfig, done: "SimpleQueue[_Attempt[T]]"
) -> _Attempt[T]:
    """Start a thread for a table, which is left behind if its storage hangs."""
    attempt = _Attempt[T](table)

    def work() -> None:
        try:
            attempt.result = task.by_files(run, table)
        except IngestError as error:
            attempt.result = error
        except Exception as error:  # noqa: BLE001  Spark works on the table, and names what is wrong
            logger(__name__).debug("files.unclear", table=table.name, problem=str(error))
        finally:
            done.put(attempt)

    threading.Thread(target=work, name=f"files-{table.name}", daemon=True).start()
    return attempt


def _may_begin(active: Sequence[_Attempt[T]]) -> bool:
    """Tell whether another table may begin: those at work wait for their storage, or hang."""
    now = time.monotonic()
    quick = [attempt.started for attempt in active if attempt.started > now - _SLOW_S]
    return len(quick) < THREADS and max(quick, default=0.0) <= now - WAITS_S


def _next(done: "SimpleQueue[_Attempt[T]]") -> _Attempt[T] | None:
    try:
        return done.get(timeout=WAITS_S)
    except Empty:
        return None
