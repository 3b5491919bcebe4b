"""Errors of Hudi tables and of the storage below them."""

import attrs

from ingest.errors.base import DOCTOR, PermanentError, RetryableError, sentences


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
