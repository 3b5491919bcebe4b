"""The errors of `ingest` as values: each keeps its fields and builds its text from them.

Three bases decide the exit code: `PermanentError` (1: the same run would fail again), `UserError` (2: wrong
usage or settings) and `RetryableError` (75: try again later).  A text names the place, the value found, the
values allowed and the remedy.  Fields are positional, so that errors pickle.
"""

from typing import ClassVar

import attrs


class IngestError(Exception):
    """The base of all errors that `ingest` raises on purpose."""

    exit_code: ClassVar[int] = 1


class PermanentError(IngestError):
    """Fails again until the cause is fixed.  Exit code 1."""


class UserError(IngestError):
    """Wrong usage or settings.  Exit code 2."""

    exit_code: ClassVar[int] = 2


class RetryableError(IngestError):
    """Temporary: broker, registry or storage unreachable, or table locked.  Exit code 75."""

    exit_code: ClassVar[int] = 75


# --- usage and files ---------------------------------------------------------------------------


@attrs.frozen
class UsageError(UserError):
    """A command line that cannot be executed."""

    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(self.problem, self.todo)


@attrs.frozen
class SettingsError(UserError):
    """A settings file, environment variable or flag with a wrong value; `key` is its dotted path."""

    source: str
    key: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.source}: {self.key}" if self.key else self.source
        return _sentences(f"{where}: {self.problem}", self.todo)


@attrs.frozen
class TableFileError(UserError):
    """A table file that cannot be read; `key` is the dotted path inside it."""

    path: str
    key: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: {self.key}" if self.key else self.path
        return _sentences(f"{where}: {self.problem}", self.todo)


# --- registry and schemas ----------------------------------------------------------------------


@attrs.frozen
class RegistryUnreachableError(RetryableError):
    """No registry address answered; `problem` is the answer of the last one, without secrets."""

    url: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"registry {self.url}: {self.problem}", "Try again when it is up")


@attrs.frozen
class RegistryRefusedError(PermanentError):
    """The registry refused a request: bad credentials, incompatible schema, bad request."""

    url: str
    request: str
    status: int
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        text = f"registry {self.url}: {self.request}: HTTP {self.status}: {self.problem}"
        return _sentences(text, self.todo)


@attrs.frozen
class NoRegistryError(PermanentError):
    """A server answered at the registry's address, and it does not speak a schema registry's API."""

    url: str
    request: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"registry {self.url}: {self.request}: {self.problem}", self.todo)


@attrs.frozen
class SchemaNotFoundError(PermanentError):
    """The registry does not hold a subject, version or id; `item` names it."""

    url: str
    item: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"registry {self.url}: {self.item} does not exist", self.todo)


@attrs.frozen
class SchemaError(PermanentError):
    """A schema that cannot be used; `where` names subject and version or id, `path` the field."""

    where: str
    path: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"{self.where} {self.path}: {self.problem}", self.todo)


@attrs.frozen
class UnmappedTypeError(PermanentError):
    """A type without a row in the type table."""

    where: str
    path: str
    semantic: str
    physical: str

    def __str__(self) -> str:
        problem = f"'{self.semantic}' carried as '{self.physical}' has no row in the type table"
        return _sentences(
            f"{self.where} {self.path}: {problem}",
            "Exclude the column ([columns.<name>] exclude = true) or add a row to typemap/rows.py",
        )


@attrs.frozen
class EvolutionError(PermanentError):
    """A schema change that is not safe, or that the table file's `[evolution]` refuses.

    `kind` is one of `ingest.tables.evolution`, `by` the schema that brings it, `further` counts other changes
    that fail.
    """

    table: str
    column: str
    kind: str
    new: str
    old: str
    by: str = ""
    todo: str = ""
    further: int = 0

    def __str__(self) -> str:
        where = f"table {self.table}, column {self.column}" if self.column else f"table {self.table}"
        by = f"{self.by}: " if self.by else ""
        change = f"{self.old} becomes {self.new}" if self.new and self.old else ""
        change = change or self.new or f"{self.old} was removed"
        further = f" (and {self.further} more)" if self.further else ""
        return _sentences(
            f"{where}: {by}{self.kind} is not allowed: {change}{further}. Nothing was written", self.todo
        )


@attrs.frozen
class FixtureError(UserError):
    """A fixture or corpus folder that cannot be loaded; `where` is a line, record or field of `path`."""

    path: str
    where: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: {self.where}" if self.where else self.path
        return _sentences(f"{where}: {self.problem}", self.todo)


# --- records, offsets, tables ------------------------------------------------------------------


@attrs.frozen
class DecodeError(PermanentError):
    """Records that could not be read; topic, partition and offset name the first.

    `bound` is the number that the table file allows, if it allows any.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    count: int = 1
    bound: str = ""

    def __str__(self) -> str:
        further = f" ({self.count - 1} more like it in this range)" if self.count > 1 else ""
        return _sentences(
            f"{self.topic}-{self.partition}-{self.offset}: {self.reason}{further}",
            self.bound,
            "Nothing was committed for this table",
        )


@attrs.frozen
class OffsetError(PermanentError):
    """The table's offsets do not fit the topic's."""

    topic: str
    partition: int
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"{self.topic}-{self.partition}: {self.problem}", self.todo)


@attrs.frozen
class BrokerUnreachableError(RetryableError):
    """No Kafka broker answered."""

    bootstrap_servers: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", "Try again when it is up")


@attrs.frozen
class BrokerRefusedError(PermanentError):
    """A broker refused a request: bad credentials, no permission, an impossible request."""

    bootstrap_servers: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", self.todo)


@attrs.frozen
class TopicNotFoundError(PermanentError):
    """The broker does not have the topic."""

    topic: str
    bootstrap_servers: str
    hint: str = ""

    def __str__(self) -> str:
        todo = "Check the table file's `topic`, or start the connector that writes it"
        return _sentences(
            f"topic {self.topic} does not exist on Kafka {self.bootstrap_servers}",
            f"{self.hint} {todo}" if self.hint else todo,
        )


@attrs.frozen
class WriteError(PermanentError):
    """Hudi refused a batch; nothing was committed."""

    table: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"table {self.table}: {self.problem}", "Nothing was committed")


@attrs.frozen
class TableLockedError(RetryableError):
    """Another writer holds the lock of the table; nothing was committed."""

    table: str
    problem: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: locked by another writer: {self.problem}", "Try again when it is done"
        )


@attrs.frozen
class TableTimeoutError(RetryableError):
    """A table that exceeded `[run] table_timeout_s`; `step` is its last reported step."""

    table: str
    timeout_s: float
    step: str = ""

    def __str__(self) -> str:
        step = f", while {self.step}" if self.step else ""
        return _sentences(
            f"table {self.table}: exceeded the time limit of {self.timeout_s} s{step}",
            "Try again; [run] table_timeout_s sets the limit",
        )


@attrs.frozen
class StoppedError(RetryableError):
    """A table that a signal stopped before its commit."""

    table: str
    signal: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: stopped by {self.signal} before its commit", "Run again to continue"
        )


@attrs.frozen
class JvmEndedError(RetryableError):
    """The JVM ended while it processed a table, or before its turn; `cause` says how, if known.

    A commit in progress is complete or absent; the next run continues from the last complete one.
    """

    table: str
    step: str = ""
    cause: str = ""

    def __str__(self) -> str:
        where = f"table {self.table}: " if self.table else ""
        cause = f" ({self.cause})" if self.cause else ""
        step = f" while {self.step}" if self.step else ""
        return _sentences(
            f"{where}the JVM ended{cause}{step}",
            'Run again. If it ran out of memory, raise [spark.conf] "spark.driver.memory", '
            "or read less at a time (--max-offsets)",
        )


@attrs.frozen
class JvmMemoryError(RetryableError):
    """A table that needs more memory than the JVM has."""

    table: str
    problem: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: the JVM ran out of memory: {self.problem}",
            'Raise [spark.conf] "spark.driver.memory" (on a cluster also "spark.executor.memory"), '
            "or read less at a time (--max-offsets)",
        )


@attrs.frozen
class TableChangedError(PermanentError):
    """A table file that contradicts its table: the value of `key` is fixed when the table is created."""

    path: str
    key: str
    value: str
    fixed: str

    def __str__(self) -> str:
        return _sentences(
            f"{self.path}: {self.key}: found {self.value}, but the table was created with {self.fixed}",
            "Set it back, or load a new table: change `table`, or move the table's folder away",
        )


@attrs.frozen
class ClockError(RetryableError):
    """A clock behind the newest instant: readers would never see a commit made now."""

    table: str
    instant: str
    ahead_s: int

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: instant {self.instant} (UTC) is {self.ahead_s} s ahead of the clock here",
            "Nothing was committed. Correct the clock, or try again when that time is over",
        )


@attrs.frozen
class JvmZoneError(RetryableError):
    """A JVM that also writes Hudi tables in a zone east of UTC: Hudi keeps one newest instant for all."""

    table: str
    instant: str
    ahead_s: int

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: this JVM wrote another Hudi table at instant {self.instant}, "
            f"{self.ahead_s} s ahead of UTC",
            "Nothing was committed. Write the tables in separate processes, start the JVM with "
            "-Duser.timezone=UTC, or write the other table with hoodie.table.timeline.timezone=UTC",
        )


@attrs.frozen
class LakeError(PermanentError):
    """A path in the lake with content that this version cannot use."""

    path: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"lake {self.path}: {self.problem}", self.todo)


@attrs.frozen
class LakeUnreachableError(RetryableError):
    """The lake's storage cannot be read or written."""

    path: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"lake {self.path}: {self.problem}")


@attrs.frozen
class UnexpectedError(PermanentError):
    """An unforeseen failure, usually a bug."""

    where: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"{self.where}: {self.problem}", "Run again with --debug and report it")


# --- local servers -----------------------------------------------------------------------------


@attrs.frozen
class LocalServerError(PermanentError):
    """A local server that did not start or stop; `log` is the file with the reason."""

    server: str
    problem: str
    log: str = ""
    todo: str = ""

    def __str__(self) -> str:
        log = f" (log: {self.log})" if self.log else ""
        return _sentences(f"local {self.server}: {self.problem}{log}", self.todo)


def _sentences(*parts: str) -> str:
    """Join the parts that are not empty, each as a sentence."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)
