"""Many tables in one Spark session, several at a time.  An error of one table stops no other.

If the JVM ends, another one takes over: first the tables that had not started, then, one at a time, those
that were at work, since each of them may have caused it.  A table that loses a second JVM is reported, unless
it ran out of memory and can read less (`ingest.run.work.memory`).
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final, Generic, TypeVar

import attrs
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from ingest.errors import (
    IngestError,
    JvmEndedError,
    JvmMemoryError,
    LakeUnreachableError,
    UnexpectedError,
)
from ingest.kafka.topics import broker_gone
from ingest.lazy import missing_extra
from ingest.log import logger
from ingest.run.work.context import Context, TableTask
from ingest.run.work.supervisor import Shift, Supervisor
from ingest.spark.java_errors import class_names, is_unreachable, root_cause
from ingest.stop import listening
from ingest.tables import TableConfig

T = TypeVar("T")

KAFKA_DOWN: Final = frozenset({"TimeoutException", "DisconnectException", "BrokerNotAvailableException"})
"""Java exceptions of a broker that went away while its records were read."""
_MAX_RESTARTS: Final = 8


@attrs.define(eq=False)
class Fleet(Generic[T]):
    """The tables of a run at work."""

    run: Context
    task: TableTask[T]
    may_restart: bool = True
    """Whether another JVM may take over."""
    results: dict[str, T] = attrs.field(factory=dict, init=False)
    restarts: int = attrs.field(default=0, init=False)

    def run_all(self, tables: Sequence[TableConfig]) -> tuple[T, ...]:
        """Work on all tables, and return their results in the tables' order."""
        waiting, suspects = deque(tables), deque[TableConfig]()
        with listening(self.run.stop):
            while waiting or suspects:
                shift = self._shift(tuple(waiting) or (suspects.popleft(),))
                waiting = shift.waiting
                if not shift.interrupted:
                    continue
                cause, reads_less = self.run.driver.process.cause(), False
                if len(shift.interrupted) > 1:
                    suspects.extend(shift.interrupted)
                elif reads_less := self._reads_less(shift.interrupted[0]):
                    suspects.appendleft(shift.interrupted[0])
                else:  # it was alone: another try would end the same way
                    self._lose(shift.interrupted, cause)
                self.restarts += 0 if reads_less else 1
                if (waiting or suspects) and not self._restart(cause):
                    self._lose((*suspects, *waiting), cause)
                    break
        return tuple(self.results[table.name] for table in tables)

    def _shift(self, tables: Sequence[TableConfig]) -> Shift[T]:
        """Work on tables in the present JVM."""
        run = self.run
        supervisor = Supervisor(
            run.spark.sparkContext, run.settings.run, run.stop, run.steps, self._attempt, self._finish
        )
        shift = supervisor.run(f"ingest-{run.run_id}", tables)
        self.results |= shift.results
        return shift

    def _finish(self, table: TableConfig, result: T | IngestError, seconds: float) -> T:
        return self.task.finish(self.run, table, result, seconds)

    def _reads_less(self, table: TableConfig) -> bool:
        """Whether a table that was alone when the heap was full can read less at the next try."""
        return self.run.driver.process.is_out_of_memory() and self.run.limits.lower(table)

    def _lose(self, tables: Iterable[TableConfig], cause: str) -> None:
        """Report tables for which no JVM is left."""
        for table in tables:
            step = self.run.limits.step(table) or self.run.steps.detail(table.name)
            error = JvmEndedError(table.name, step, cause)
            self.results[table.name] = self._finish(table, error, 0.0)

    def _restart(self, cause: str) -> bool:
        """Start another JVM if this process may.  After many restarts the machine is the suspect."""
        if not self.may_restart or self.run.stop.signal or self.restarts > _MAX_RESTARTS:
            return False
        self.run.progress("", "starting Spark again")
        try:
            with self.run.steps.during("", "start"):
                spark = self.run.driver.process.restart()
        except Exception as error:  # noqa: BLE001  pyspark has no class for a failed start
            logger(__name__).error("jvm.not-restarted", cause=cause, problem=str(error))
            return False
        if spark is None:
            return False
        logger(__name__).warning("jvm.restarted", cause=cause)
        self.run = attrs.evolve(self.run)  # opens the session and the tables again
        return True

    def _attempt(self, table: TableConfig) -> T | IngestError:
        """Work on one table in its own scheduler pool.  Return exceptions as `IngestError`s."""
        try:
            # A pool per table: Spark shares executors evenly between pools, and FIFO within one.
            self.run.spark.sparkContext.setLocalProperty("spark.scheduler.pool", table.name)
            return self.task.with_spark(self.run, table)
        except Exception as error:  # noqa: BLE001  one table's surprise must not stop the others
            return explain(self.run, table, error)


def explain(run: Context, table: TableConfig, error: Exception) -> IngestError:
    """Return the meaning of a table's exception.  The JVM may have ended."""
    if not run.driver.process.is_alive():
        logger(__name__).debug("jvm.ended", table=table.name, exc_info=error)
        return JvmEndedError(table.name)
    if isinstance(error, IngestError):
        return error
    if isinstance(error, (Py4JError, PySparkException)):
        return _explain_spark(run, table, error)
    if missing := missing_extra(error):
        return missing
    logger(__name__).error("table.failed", table=table.name, exc_info=error)
    return UnexpectedError(f"table {table.name}", f"{type(error).__name__}: {error}")


def is_out_of_memory(error: Exception) -> bool:
    """Tell whether a Spark job failed for want of memory."""
    return "OutOfMemoryError" in class_names(error) or "OutOfMemoryError" in root_cause(error)


def _explain_spark(run: Context, table: TableConfig, error: Py4JError | PySparkException) -> IngestError:
    """Return the meaning of a failed Spark job: no answer of broker or storage, little memory, unknown."""
    logger(__name__).debug("spark.failed", table=table.name, exc_info=error)
    problem, names = root_cause(error), class_names(error)
    if names & KAFKA_DOWN:
        return broker_gone(run.settings.kafka, problem)
    if is_out_of_memory(error):
        return JvmMemoryError(table.name, problem, run.limits.step(table))
    if is_unreachable(error):
        return LakeUnreachableError(run.settings.lake.table_path(table.name), problem)
    return UnexpectedError(f"table {table.name}", problem)
