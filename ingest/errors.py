"""The errors of `ingest` as values: each keeps its fields and builds its text from them.

Three bases decide the exit code: `PermanentError` (1: the same run would fail again), `UserError` (2: wrong
usage or settings) and `RetryableError` (75: try again later).  A text names the place, the value found, the
values allowed and the remedy.  Fields are positional, so that errors pickle.
"""

import re
from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, ClassVar, Final, TypeVar

import attrs


class IngestError(Exception):
    """The base of all errors that `ingest` raises on purpose."""

    exit_code: ClassVar[int] = 1

    def problems(self) -> "tuple[IngestError, ...]":
        """Return the problems that it reports: itself, or several of a file."""
        return (self,)


class PermanentError(IngestError):
    """Fails again until the cause is fixed.  Exit code 1."""


class UserError(IngestError):
    """Wrong usage or settings.  Exit code 2."""

    exit_code: ClassVar[int] = 2


class RetryableError(IngestError):
    """Temporary: broker, registry or storage unreachable, or table locked.  Exit code 75."""

    exit_code: ClassVar[int] = 75


DOCTOR: Final = "`ingest doctor` examines it"
"""The last sentence of errors that it can explain."""


def sentences(*parts: str) -> str:
    """Join the parts that are not empty, each as a sentence.  A very long part loses its middle."""
    short = (_shortened(part) for part in parts if part)
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in short)


_HEAD: Final = 1500
_TAIL: Final = 500
"""The characters of a long part to keep: names from schemas and the texts of servers may have any length."""


def _shortened(part: str) -> str:
    left_out = len(part) - _HEAD - _TAIL
    return part if left_out <= 0 else f"{part[:_HEAD]} … ({left_out} characters) … {part[-_TAIL:]}"


@attrs.frozen
class UsageError(UserError):
    """A command line that cannot be executed."""

    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(self.problem, self.todo)


class _FileError(UserError):
    """A problem of one key.  `further` are the other problems found in the same file or source."""

    key: str
    problem: str
    todo: str
    line: int
    further: tuple[Any, ...]

    def problems(self) -> tuple[Any, ...]:
        """Return each problem by itself."""
        return (attrs.evolve(self, further=()), *self.further)  # type: ignore[misc]  # subclasses are attrs

    def _at(self, source: str) -> str:
        where = f"{source}:{self.line}" if self.line else source
        where = f"{where}: {self.key}" if self.key else where
        text = sentences(f"{where}: {self.problem}", self.todo)
        return "\n".join((text, *map(str, self.further)))


@attrs.frozen
class SettingsError(_FileError):
    """A settings file, environment variable or flag with a wrong value.  `key` is its dotted path."""

    source: str
    key: str
    problem: str
    todo: str = ""
    line: int = 0
    further: "tuple[SettingsError, ...]" = ()

    def __str__(self) -> str:
        return self._at(self.source)


@attrs.frozen
class TableFileError(_FileError):
    """A table file that cannot be read.  `key` is the dotted path inside it."""

    path: str
    key: str
    problem: str
    todo: str = ""
    line: int = 0
    further: "tuple[TableFileError, ...]" = ()

    def __str__(self) -> str:
        return self._at(self.path)

    @property
    def table(self) -> str:
        """The table that the file is for, by its file name."""
        return PurePath(self.path).stem


F = TypeVar("F", bound=_FileError)


def joined(errors: Iterable[F]) -> F:
    """Return one error for the problems of several, of which there is at least one."""
    first, *further = (problem for error in errors for problem in error.problems())
    result: F = attrs.evolve(first, further=tuple(further))
    return result


@attrs.frozen
class FixtureError(UserError):
    """A fixture or corpus folder that cannot be loaded.  `where` is a line, record or field of `path`."""

    path: str
    where: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: {self.where}" if self.where else self.path
        return sentences(f"{where}: {self.problem}", self.todo)


@attrs.frozen
class BrokerUnreachableError(RetryableError):
    """No Kafka broker answered."""

    bootstrap_servers: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", "Try again when it is up", DOCTOR)


@attrs.frozen
class BrokerRefusedError(PermanentError):
    """A broker refused a request: bad credentials, no permission, an impossible request."""

    bootstrap_servers: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"Kafka {self.bootstrap_servers}: {self.problem}", self.todo, DOCTOR)


@attrs.frozen
class TopicNotFoundError(PermanentError):
    """The broker does not have the topic."""

    topic: str
    bootstrap_servers: str
    hint: str = ""

    def __str__(self) -> str:
        todo = "Check the table file's `topic`, or start the connector that writes it"
        return sentences(
            f"topic {self.topic} does not exist on Kafka {self.bootstrap_servers}",
            f"{self.hint} {todo}" if self.hint else todo,
        )


@attrs.frozen
class OffsetError(PermanentError):
    """The table's offsets do not fit the topic's."""

    topic: str
    partition: int
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"{self.topic}-{self.partition}: {self.problem}", self.todo)


@attrs.frozen
class DecodeError(PermanentError):
    """Records that could not be read.  Topic, partition and offset name the first.

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
        return sentences(
            f"{self.topic}-{self.partition}-{self.offset}: {self.reason}{further}",
            self.bound,
            "Nothing was committed for this table",
        )


@attrs.frozen
class RegistryUnreachableError(RetryableError):
    """No registry address answered.  `problem` is the answer of the last one, without secrets."""

    url: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"registry {self.url}: {self.problem}", "Try again when it is up", DOCTOR)


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
        return sentences(text, self.todo)


@attrs.frozen
class NoRegistryError(PermanentError):
    """A server answered at the registry's address, and it does not speak a schema registry's API."""

    url: str
    request: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"registry {self.url}: {self.request}: {self.problem}", self.todo, DOCTOR)


@attrs.frozen
class SchemaNotFoundError(PermanentError):
    """The registry does not hold a subject, version or id.  `item` names it."""

    url: str
    item: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"registry {self.url}: {self.item} does not exist", self.todo)


@attrs.frozen
class SchemaError(PermanentError):
    """A schema that cannot be used.  `where` names subject and version or id, `path` the field."""

    where: str
    path: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"{self.where} {self.path}: {self.problem}", self.todo)


@attrs.frozen
class UnmappedTypeError(PermanentError):
    """A type without a row in the type table."""

    where: str
    path: str
    semantic: str
    physical: str

    def __str__(self) -> str:
        problem = f"'{self.semantic}' carried as '{self.physical}' has no row in the type table"
        return sentences(
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
        return sentences(
            f"{where}: {by}{self.kind} is not allowed: {change}{further}. Nothing was written", self.todo
        )


@attrs.frozen
class WriteError(PermanentError):
    """Hudi refused a batch, and nothing was committed."""

    table: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"table {self.table}: {self.problem}", "Nothing was committed")


@attrs.frozen
class TableLockedError(RetryableError):
    """Another writer holds the lock of the table, and nothing was committed."""

    table: str
    problem: str

    def __str__(self) -> str:
        return sentences(
            f"table {self.table}: locked by another writer: {self.problem}", "Try again when it is done"
        )


@attrs.frozen
class TableChangedError(PermanentError):
    """A table file that contradicts its table: the value of `key` is fixed when the table is created."""

    path: str
    key: str
    value: str
    fixed: str
    source: str = "table"
    """`topic` if the rows of the table do not have the values that a rebuild needs."""

    def __str__(self) -> str:
        table = self.path.removesuffix(".toml")
        return sentences(
            f"{self.path}: {self.key}: found {self.value}, but the table was created with {self.fixed}",
            f"Set it back, or rebuild the table: `ingest rebuild {table} --from {self.source}`",
        )


@attrs.frozen
class RebuildError(PermanentError):
    """A table that cannot be rebuilt: rows or values would be lost, or the storage lacks room."""

    table: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"table {self.table}: cannot be rebuilt: {self.problem}", self.todo)


@attrs.frozen
class TakeoverError(PermanentError):
    """A table that cannot begin with rows of another table or of an export.  Nothing was written."""

    table: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"table {self.table}: cannot take over the rows: {self.problem}", self.todo)


@attrs.frozen
class ClockError(RetryableError):
    """A clock behind the newest instant: readers would never see a commit made now."""

    table: str
    instant: str
    ahead_s: int

    def __str__(self) -> str:
        return sentences(
            f"table {self.table}: instant {self.instant} (UTC) is {self.ahead_s} s ahead of the clock here",
            "Nothing was committed. Correct the clock, or try again when that time is over",
            DOCTOR,
        )


@attrs.frozen
class JvmZoneError(RetryableError):
    """A JVM that also writes Hudi tables in a zone east of UTC: Hudi keeps one newest instant for all."""

    table: str
    instant: str
    ahead_s: int

    def __str__(self) -> str:
        return sentences(
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
        return sentences(f"lake {self.path}: {self.problem}", self.todo)


@attrs.frozen
class LakeUnreachableError(RetryableError):
    """The lake's storage cannot be read or written."""

    path: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"lake {self.path}: {self.problem}", DOCTOR)


@attrs.frozen
class IcebergError(PermanentError):
    """The Iceberg table of a table cannot have its newest commit."""

    table: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"table {self.table}: its Iceberg table stays as it is: {self.problem}", self.todo)


@attrs.frozen
class IcebergUnreachableError(RetryableError):
    """The Iceberg catalog, or its storage, does not answer."""

    table: str
    problem: str

    def __str__(self) -> str:
        return sentences(
            f"table {self.table}: the Iceberg catalog does not answer: {self.problem}",
            "Commits in Hudi stay, and the next run updates the Iceberg table",
        )


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


@attrs.frozen
class SourceRefusedError(PermanentError):
    """A source database refused a login or a query, or is not the topic's source."""

    source: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"source {self.source}: {self.problem}", self.todo)


@attrs.frozen
class SourceDiffersError(PermanentError):
    """A table that differs from its source.  The webhook of `ingest verify` reports it."""

    table: str
    source: str
    differences: str
    """The number of rows by kind of difference, or of both sides."""

    def __str__(self) -> str:
        problem = f"table {self.table}: differs from source {self.source}: {self.differences}"
        return sentences(problem, f"Run `ingest verify {self.table}` to see the rows")


@attrs.frozen
class SourceUnreachableError(RetryableError):
    """A source database that does not answer, or that ended a connection or a query."""

    source: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"source {self.source}: {self.problem}", "Try again")


@attrs.frozen
class JarError(PermanentError):
    """A pinned jar that the repository does not have, that differs from its pin, or that cannot be stored."""

    jar: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"{self.jar}: {self.problem}", self.todo)


@attrs.frozen
class RepositoryUnreachableError(RetryableError):
    """The repository of the jars did not answer, or broke off.  `url` is without its password."""

    url: str
    problem: str

    def __str__(self) -> str:
        return sentences(
            f"{self.url}: {self.problem}",
            "Try again: the part that arrived is kept. Behind a proxy set HTTPS_PROXY; without a network run "
            "`ingest jars list`, which says where to place the files",
        )


_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Control characters without tab and newline, marks that reverse or hide text, halves of characters."""


def printable(text: str) -> str:
    """Escape the characters that control a terminal, or that reverse or hide other text."""
    return _CONTROLS.sub(lambda character: _escape(ord(character[0])), text)


def _escape(number: int) -> str:
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"  # noqa: PLR2004  Python's own forms
