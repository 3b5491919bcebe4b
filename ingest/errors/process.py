"""Errors of a run, its JVM and local servers, and unforeseen failures."""

import attrs

from ingest.errors.base import DOCTOR, PermanentError, RetryableError, sentences


@attrs.frozen
class TableTimeoutError(RetryableError):
    """A table that exceeded `[run] table_timeout_s`.  `step` is its last reported step."""

    table: str
    timeout_s: float
    step: str = ""

    def __str__(self) -> str:
        step = f", while {self.step}" if self.step else ""
        return sentences(
            f"table {self.table}: exceeded the time limit of {self.timeout_s} s{step}",
            "Try again; [run] table_timeout_s sets the limit",
        )


@attrs.frozen
class StoppedError(RetryableError):
    """A table that a signal stopped before its commit."""

    table: str
    signal: str

    def __str__(self) -> str:
        return sentences(
            f"table {self.table}: stopped by {self.signal} before its commit", "Run again to continue"
        )


@attrs.frozen
class JvmEndedError(RetryableError):
    """The JVM ended while it processed a table, or before its turn.  `cause` says how, if known.

    A commit in progress is complete or absent, and the next run continues from the last complete one.
    """

    table: str
    step: str = ""
    cause: str = ""

    def __str__(self) -> str:
        where = f"table {self.table}: " if self.table else ""
        cause = f" ({self.cause})" if self.cause else ""
        step = f" while {self.step}" if self.step else ""
        return sentences(
            f"{where}the JVM ended{cause}{step}",
            'Run again. If it ran out of memory, raise [spark.conf] "spark.driver.memory", '
            "or read less at a time (--max-offsets)",
            DOCTOR,
        )


@attrs.frozen
class JvmMemoryError(RetryableError):
    """A table that needs more memory than the JVM has."""

    table: str
    problem: str
    step: str = ""

    def __str__(self) -> str:
        step = f" while {self.step}" if self.step else ""
        return sentences(
            f"table {self.table}: the JVM ran out of memory{step}: {self.problem}",
            'Raise [spark.conf] "spark.driver.memory" (on a cluster also "spark.executor.memory"), '
            "or read less at a time (--max-offsets)",
            DOCTOR,
        )


@attrs.frozen
class SparkStartError(PermanentError):
    """Spark that did not start: too few files or too little memory for its JVM, or a setting it refuses."""

    problem: str
    todo: str

    def __str__(self) -> str:
        return sentences(f"Spark did not start: {self.problem}", self.todo, DOCTOR)


@attrs.frozen
class LocalServerError(PermanentError):
    """A local server that did not start or stop.  `log` is the file with the reason."""

    server: str
    problem: str
    log: str = ""
    todo: str = ""

    def __str__(self) -> str:
        log = f" (log: {self.log})" if self.log else ""
        return sentences(f"local {self.server}: {self.problem}{log}", self.todo)


@attrs.frozen
class UnexpectedError(PermanentError):
    """An unforeseen failure, usually a bug."""

    where: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"{self.where}: {self.problem}", "Run again with --debug and report it")
