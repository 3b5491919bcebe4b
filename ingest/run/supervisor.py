"""Tables at work, several at a time, each in a thread of its own; one that hangs is left behind."""

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Generic, TypeVar

import attrs
from py4j.protocol import Py4JError
from pyspark import InheritableThread, SparkContext

from ingest.errors import IngestError, StoppedError, TableTimeoutError, UnexpectedError
from ingest.log import logger
from ingest.settings import RunSettings
from ingest.stop import Stop, listening
from ingest.tables import TableConfig

T = TypeVar("T")

_TICK_S: Final = 0.1
_LET_GO_S: Final = 3.0
"""How long a table that was given up has to come back, before its thread is left behind."""


@attrs.define(eq=False)
class _Job(Generic[T]):
    """A table at work; the times are monotonic, in seconds."""

    table: TableConfig
    tag: str
    found: T | IngestError | None = None
    started: float = math.inf
    unwanted: float = math.inf
    """Since when it should stop."""
    given_up: float = math.inf

    @property
    def seconds(self) -> float:
        """How long it has been at work."""
        return max(0.0, time.monotonic() - self.started)


@attrs.frozen
class Supervisor(Generic[T]):
    """Starts tables, watches their time and the signals, and gives up what has to stop.

    `work` returns what a table's thread found, errors too; `finish` makes a result of it, and is called in
    the caller's thread.  A table in its commit is let alone for the grace time.  Threads are daemons: one
    that hangs in a call to storage holds up neither the other tables nor the end of the process.
    """

    context: SparkContext
    settings: RunSettings
    stop: Stop
    steps: Mapping[str, str]
    work: Callable[[TableConfig], T | IngestError]
    finish: Callable[[TableConfig, T | IngestError, float], T]

    def run(self, run_id: str, tables: Sequence[TableConfig]) -> tuple[T, ...]:
        """Work on all tables; give their results in the tables' order."""
        jobs: list[_Job[T]] = [_Job(table, f"ingest-{run_id}-{n}") for n, table in enumerate(tables)]
        waiting, active, results = deque(jobs), list[_Job[T]](), dict[str, T]()
        woken = threading.Event()
        with listening(self.stop):
            while waiting or active:
                while waiting and self.stop.signal:
                    job = waiting.popleft()
                    results[job.tag] = self._finish(job, StoppedError(job.table.name, self.stop.signal))
                while waiting and len(active) < self.settings.parallel_tables:
                    active.append(self._start(waiting.popleft(), woken))
                woken.wait(_TICK_S)
                woken.clear()
                for job in list(active):
                    found = self._look(job)
                    if found is not None:
                        active.remove(job)
                        results[job.tag] = self._finish(job, found)
        return tuple(results[job.tag] for job in jobs)

    def _start(self, job: _Job[T], woken: threading.Event) -> _Job[T]:
        def work() -> None:
            try:
                # A tag, no job group: Hudi sets groups of its own.
                self.context.addJobTag(job.tag)
                self.context.setInterruptOnCancel(interruptOnCancel=True)
                job.found = self.work(job.table)
            except Exception as error:  # noqa: BLE001  the JVM is gone, at the worst
                job.found = UnexpectedError(f"table {job.table.name}", f"{type(error).__name__}: {error}")
            finally:
                woken.set()

        job.started = time.monotonic()
        InheritableThread(target=work, name=f"table-{job.table.name}", daemon=True).start()
        return job

    def _finish(self, job: _Job[T], found: T | IngestError) -> T:
        return self.finish(job.table, found, job.seconds)

    def _look(self, job: _Job[T]) -> T | IngestError | None:
        """Return what a table found, or why it was given up; None while it is at work."""
        reason = self.stop.reason(job.table.name)
        if job.found is not None:  # what was committed in time stays so
            return reason if reason and isinstance(job.found, IngestError) else job.found
        if reason is None:
            self._judge(job)
            return None
        self._cancel(job)
        if time.monotonic() - job.given_up < _LET_GO_S:
            return None
        logger(__name__).warning("table.left-behind", table=job.table.name)
        return reason

    def _judge(self, job: _Job[T]) -> None:
        """Give a table up that is late, or that a signal ends."""
        now, limit_s, name = time.monotonic(), self.settings.table_timeout_s, job.table.name
        reason: IngestError
        if self.stop.signal:
            reason = StoppedError(name, self.stop.signal)
        elif limit_s and now - job.started >= limit_s:
            reason = TableTimeoutError(name, limit_s, self.steps.get(name, ""))
        else:
            return
        job.unwanted = min(job.unwanted, now)
        is_over = now - job.unwanted >= self.settings.stop_grace_s
        if self.stop.give_up(name, reason, even_committing=is_over):
            job.given_up = now

    def _cancel(self, job: _Job[T]) -> None:
        """Cancel what runs for it in Spark; asked again and again, since the next job may just begin."""
        try:
            self.context.cancelJobsWithTag(job.tag)
        except Py4JError as error:
            logger(__name__).debug("cancel.failed", table=job.table.name, exc_info=error)
