"""What can go wrong, as values: each error keeps its fields and makes its text from them.

Three bases decide the exit code: `PermanentError` (1: the same run would fail again), `UserError` (2: wrong
usage or settings) and `RetryableError` (75: try again later).  A text says where, what was found, what was
allowed and what to do.  Fields are positional, so that errors pickle.
"""

from typing import ClassVar

import attrs


class IngestError(Exception):
    """The base of everything that `ingest` raises on purpose."""

    exit_code: ClassVar[int] = 1


class PermanentError(IngestError):
    """Would fail again unchanged: exit code 1."""


class UserError(IngestError):
    """Wrong usage or settings: exit code 2."""

    exit_code: ClassVar[int] = 2


class RetryableError(IngestError):
    """Temporary: broker, registry or storage out of reach, table locked.  Exit code 75."""

    exit_code: ClassVar[int] = 75


# --- usage and files ---------------------------------------------------------------------------


@attrs.frozen
class UsageError(UserError):
    """A command line that cannot be carried out."""

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
    """No registry address answered; `problem` is the last one's answer, without secrets."""

    url: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"registry {self.url}: {self.problem}", "Try again when it is up")


@attrs.frozen
class RegistryRefusedError(PermanentError):
    """The registry answered, and said no: bad credentials, incompatible schema, bad request."""

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
    """The registry does not hold a subject, version or id; `wanted` says which."""

    url: str
    wanted: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"registry {self.url}: {self.wanted} does not exist", self.todo)


@attrs.frozen
class SchemaError(PermanentError):
    """A schema that cannot be used; `where` names subject and version or id, `path` the place in it."""

    where: str
    path: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"{self.where} {self.path}: {self.problem}", self.todo)


@attrs.frozen
class UnmappedTypeError(PermanentError):
    """A type that the type table has no row for."""

    where: str
    path: str
    semantic: str
    physical: str

    def __str__(self) -> str:
        found = f"'{self.semantic}' carried as '{self.physical}' has no row in the type table"
        return _sentences(
            f"{self.where} {self.path}: {found}",
            "Exclude the column ([columns.<name>] exclude = true) or add a row to typemap/rows.py",
        )


@attrs.frozen
class EvolutionError(PermanentError):
    """A change of the schema that is not safe, or that the table file's `[evolution]` refuses.

    `kind` is one of `ingest.tables.evolution`, `by` the schema that brings it, `more` the number of others.
    """

    table: str
    column: str
    kind: str
    found: str
    present: str
    by: str = ""
    todo: str = ""
    more: int = 0

    def __str__(self) -> str:
        where = f"table {self.table}, column {self.column}" if self.column else f"table {self.table}"
        by = f"{self.by}: " if self.by else ""
        what = f"{self.present} becomes {self.found}" if self.found and self.present else ""
        what = what or self.found or f"{self.present} is gone"
        more = f" (and {self.more} more)" if self.more else ""
        return _sentences(
            f"{where}: {by}{self.kind}: {what}{more}, and that fails. Nothing was written", self.todo
        )


@attrs.frozen
class FixtureError(UserError):
    """A fixture or corpus folder that cannot be loaded; `where` is a line, a record or a field of `path`."""

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
    """Records that could not be read; the first is named by topic, partition and offset.

    `bound` says what the table file allows, where that is more than none.
    """

    topic: str
    partition: int
    offset: int
    reason: str
    count: int = 1
    bound: str = ""

    def __str__(self) -> str:
        more = f" ({self.count - 1} more like it in this range)" if self.count > 1 else ""
        return _sentences(
            f"{self.topic}-{self.partition}-{self.offset}: {self.reason}{more}",
            self.bound,
            "Nothing was committed for this table",
        )


@attrs.frozen
class OffsetError(PermanentError):
    """The table's offsets and the topic's do not fit."""

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
    """A broker answered, and said no: bad credentials, no permission, an impossible request."""

    bootstrap_servers: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return _sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", self.todo)


@attrs.frozen
class TopicNotFoundError(PermanentError):
    """The broker answered, but has no such topic."""

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
    """Another writer was at work on the table; nothing was committed."""

    table: str
    problem: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: another writer was there: {self.problem}", "Try again when it is done"
        )


@attrs.frozen
class TableTimeoutError(RetryableError):
    """A table that took longer than it may, and was given up; `step` is the last that it told."""

    table: str
    timeout_s: float
    step: str = ""

    def __str__(self) -> str:
        step = f", while {self.step}" if self.step else ""
        return _sentences(
            f"table {self.table}: given up after {self.timeout_s} s{step}",
            "Try again; [run] table_timeout_s is the limit",
        )


@attrs.frozen
class StoppedError(RetryableError):
    """A table that a signal kept from its commit."""

    table: str
    signal: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: stopped by {self.signal} before its commit", "Run again to go on"
        )


@attrs.frozen
class JvmEndedError(RetryableError):
    """The JVM ended while a table was at work, or before its turn; `cause` says how, if that is known.

    A commit that had begun is complete or absent; the next run continues from the one that is there.
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
    """A table for which the memory of the JVM was not enough."""

    table: str
    problem: str

    def __str__(self) -> str:
        return _sentences(
            f"table {self.table}: the JVM ran out of memory: {self.problem}",
            'Raise [spark.conf] "spark.driver.memory" (on a cluster also "spark.executor.memory"), '
            "or read less at a time (--max-offsets)",
        )


@attrs.frozen
class LakeError(PermanentError):
    """A place in the lake that holds something that this version cannot use."""

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
    """Something that `ingest` did not foresee, while it worked on a table."""

    where: str
    problem: str

    def __str__(self) -> str:
        return _sentences(f"{self.where}: {self.problem}", "Run again with --debug and report it")


# --- local servers -----------------------------------------------------------------------------


@attrs.frozen
class LocalServerError(PermanentError):
    """A local server that did not start or stop; `log` is the file that says why."""

    server: str
    problem: str
    log: str = ""
    todo: str = ""

    def __str__(self) -> str:
        log = f" (log: {self.log})" if self.log else ""
        return _sentences(f"local {self.server}: {self.problem}{log}", self.todo)


def _sentences(*parts: str) -> str:
    """Join the parts that are there, each as a sentence."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)
