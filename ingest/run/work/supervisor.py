"""Starts tables, several at a time, each in a separate thread.  Leaves a thread that hangs behind."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final, Generic, TypeVar

import attrs
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext

from ingest.errors import IngestError, JvmEndedError, StoppedError, TableTimeoutError, UnexpectedError
from ingest.log import logger
from ingest.run.work.steps import StepTimes
from ingest.settings import RunSettings
from ingest.stop import Stop
from ingest.tables import TableConfig

T = TypeVar("T")

_TICK_S: Final = 0.1
_LET_GO_S: Final = 3.0
"""The time in which a stopped table has to return.  Then its thread is left behind."""


@attrs.define(eq=False)
class _Job(Generic[T]):
    """A table at work.  The times are monotonic, in seconds."""

    table: TableConfig
    tag: str
    result: T | IngestError | None = None
    started: float = math.inf
    overdue: float = math.inf
    """The time since which it should stop."""
    stopped: float = math.inf

    @property
    def seconds(self) -> float:
        """The time at work."""
        return max(0.0, time.monotonic() - self.started)


@attrs.define(eq=False)
class Shift(Generic[T]):
    """Tables that are worked on in one JVM.

    If the JVM ends, `interrupted` are the tables at work at that moment, `waiting` those not yet started.
    """

    waiting: deque[TableConfig]
    results: dict[str, T] = attrs.Factory(dict)
    interrupted: list[TableConfig] = attrs.Factory(list)


@attrs.frozen
class Supervisor(Generic[T]):
    """Starts tables, watches their time and the signals, and stops them if need be.

    `work` runs in a table's thread and returns its result, errors too.  `finish` turns that into a final
    result, in the caller's thread.  A table in its commit gets the grace time.  Threads are daemons: one that
    hangs in a call to storage holds up neither the other tables nor the end of the process.
    """

    context: SparkContext
    settings: RunSettings
    stop: Stop
    steps: StepTimes
    work: Callable[[TableConfig], T | IngestError]
    finish: Callable[[TableConfig, T | IngestError, float], T]

    def run(self, tag: str, tables: Sequence[TableConfig]) -> Shift[T]:
        """Work on all tables, or until the JVM ends.  With a table's name, `tag` is unique in the JVM."""
        shift = Shift[T](deque(tables))
        active, woken = list[_Job[T]](), threading.Event()
        while active or (shift.waiting and not shift.interrupted):
            self._abandon(shift)
            while shift.waiting and not shift.interrupted and len(active) < self.settings.parallel_tables:
                table = shift.waiting.popleft()
                active.append(self._start(_Job[T](table, f"{tag}-{table.name}"), woken))
            woken.wait(_TICK_S)
            woken.clear()
            active = [job for job in active if not self._collect(shift, job)]
        return shift

    def _abandon(self, shift: Shift[T]) -> None:
        """Start no more tables after a signal."""
        while shift.waiting and self.stop.signal:
            table = shift.waiting.popleft()
            shift.results[table.name] = self.finish(table, StoppedError(table.name, self.stop.signal), 0.0)

    def _collect(self, shift: Shift[T], job: _Job[T]) -> bool:
        """Note the result of a table, if it has one."""
        result = self._look(job)
        if result is None:
            return False
        if isinstance(result, JvmEndedError):
            shift.interrupted.append(job.table)
        else:
            shift.results[job.table.name] = self.finish(job.table, result, job.seconds)
        return True

    def _start(self, job: _Job[T], woken: threading.Event) -> _Job[T]:
        def work() -> None:
            try:
                # A tag (SPARK-43952) instead of a job group: Hudi sets its own job groups (HUDI-8596).
                self.context.addJobTag(job.tag)
                self.context.setInterruptOnCancel(interruptOnCancel=True)
                job.result = self.work(job.table)
            except Exception as error:  # noqa: BLE001  a thread must leave a result
                job.result = UnexpectedError(f"table {job.table.name}", f"{type(error).__name__}: {error}")
            finally:
                woken.set()

        job.started = time.monotonic()
        try:
            # pyspark gives each thread one of the JVM (SPARK-22340): a plain one would leak it (SPARK-32010).
            InheritableThread(target=work, name=f"table-{job.table.name}", daemon=True).start()
        except (Py4JError, OSError):  # it copies properties of a thread in the JVM, which has ended
            job.result = JvmEndedError(job.table.name)
        return job

    def _look(self, job: _Job[T]) -> T | IngestError | None:
        """Return a table's result, or the reason for which it was stopped, or None while it is at work."""
        reason = self.stop.reason(job.table.name)
        if job.result is not None:  # a commit in time counts
            return reason if reason and isinstance(job.result, IngestError) else job.result
        if reason is None:
            self._judge(job)
            return None
        self._cancel(job)
        if time.monotonic() - job.stopped < _LET_GO_S:
            return None
        logger(__name__).warning("table.left-behind", table=job.table.name)
        return reason

    def _judge(self, job: _Job[T]) -> None:
        """Stop a table that is late, or that a signal ends."""
        now, limit_s, name = time.monotonic(), self.settings.table_timeout_s, job.table.name
        reason: IngestError
        if self.stop.signal:
            reason = StoppedError(name, self.stop.signal)
        elif limit_s and now - job.started >= limit_s:
            reason = TableTimeoutError(name, limit_s, self.steps.detail(name))
        else:
            return
        job.overdue = min(job.overdue, now)
        is_over = now - job.overdue >= self.settings.stop_grace_s
        if self.stop.give_up(name, reason, even_committing=is_over):
            job.stopped = now

    def _cancel(self, job: _Job[T]) -> None:
        """Cancel its Spark jobs.  Called repeatedly, since the next job may begin at any time."""
        try:
            self.context.cancelJobsWithTag(job.tag)
        except (Py4JError, OSError) as error:
            logger(__name__).debug("cancel.failed", table=job.table.name, exc_info=error)
