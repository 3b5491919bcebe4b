"""The JVM below a Spark session: whether it is alive, how it ended, and its replacement.

pyspark keeps the gateway, the context and the session in class attributes and offers no way to drop them once
their JVM has ended: `SparkContext.stop` calls the JVM and fails.  The attributes are pyspark 3.5's.
"""

import signal
from collections.abc import Callable
from subprocess import Popen, TimeoutExpired
from typing import Any, Final

import attrs
from pyspark import SparkContext
from pyspark.sql import SparkSession
from pyspark.sql.context import SQLContext

from ingest.spark.java import java_session

OUT_OF_MEMORY: Final = frozenset({3, 52})
"""Exit codes: HotSpot's for -XX:+ExitOnOutOfMemoryError, and SparkExitCode.OOM."""
EXIT_WAIT_S: Final = 5.0


@attrs.define
class SparkProcess:
    """The JVM of a session.  `start` starts another one, if this process started the first."""

    spark: SparkSession
    start: Callable[[], SparkSession] | None = None

    def is_alive(self) -> bool:
        """Whether the JVM answers and its Spark context is open."""
        return is_alive(self.spark)

    def cause(self) -> str:
        """Return the signal or the exit code that ended the JVM, or an empty text if unknown."""
        process = _process()
        if process is None:
            return ""
        try:
            return _describe(process.wait(EXIT_WAIT_S))
        except TimeoutExpired:
            return "its Spark context was stopped"

    def is_out_of_memory(self) -> bool:
        """Tell whether the JVM ran out of heap.  A kill by the kernel does not count."""
        process = _process()
        return process is not None and process.poll() in OUT_OF_MEMORY

    def restart(self) -> SparkSession | None:
        """End the old JVM for certain, and start another.  Return None if this process did not start it.

        Raises the errors of a start.
        """
        if self.start is None or _process() is None:
            return None
        discard_session(self.spark)
        self.spark = self.start()
        return self.spark


def is_alive(spark: SparkSession) -> bool:
    """Whether the JVM of a session answers and its Spark context is open."""
    try:
        return not java_session(spark).sparkContext().isStopped()
    except Exception:  # noqa: BLE001  py4j raises its own errors, OSError, or AttributeError
        return False


def stop_session(spark: SparkSession) -> None:
    """Stop a session, also after its JVM has ended."""
    if is_alive(spark):
        spark.stop()
    else:
        discard_session(spark)


def discard_session(spark: SparkSession) -> None:
    """End the remains of a JVM, and let pyspark forget its session."""
    process, context = _process(), spark.sparkContext
    if process is not None:
        process.kill()
        process.wait()
    server: Any = context._accumulatorServer  # noqa: SLF001  no public way
    if server is not None:
        server.shutdown()
    context._jsc = None  # noqa: SLF001  as `SparkContext.stop` does
    SparkContext._active_spark_context = None  # noqa: SLF001  same
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001  the next context launches another
    SparkSession._instantiatedSession = SparkSession._activeSession = None  # noqa: SLF001  as `stop` does
    SQLContext._instantiatedContext = None  # noqa: SLF001  same


def _process() -> "Popen[bytes] | None":
    """Return the JVM's process, or None if another one started it (spark-submit), or if it does not exist."""
    process: Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001  no public way
    return process


def _describe(code: int) -> str:
    if code in OUT_OF_MEMORY:
        return f"out of memory, exit code {code}"
    if code >= 0:
        return f"exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    return f"killed by {name}"
