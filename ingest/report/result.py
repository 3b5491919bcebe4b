"""The result of a command for a table, and the one exit code of several tables."""

from collections.abc import Iterable, Sequence
from typing import Literal, Protocol

import attrs

from ingest.errors import IngestError, RetryableError
from ingest.json_values import JsonValue

Failure = Literal["failed", "temporary"]
"""The outcome of a table with an error. It is `temporary` if another try may succeed."""


class HasExitCode(Protocol):
    """The result of a table, of a topic, or of anything else that a command works on."""

    @property
    def exit_code(self) -> int:
        """0 for success. Among other codes, the smaller is the worse."""


def _to_milliseconds(seconds: float) -> float:
    return round(seconds, 3)


@attrs.frozen
class TableResult(JsonValue):
    """A command's result for one table. `error` is the reason if the command failed.

    A table of several topics has the sum of their results, and their worst error.
    """

    table: str
    seconds: float = attrs.field(default=0.0, converter=_to_milliseconds, kw_only=True)
    error: IngestError | None = attrs.field(default=None, kw_only=True)
    topics: "Sequence[TableResult]" = attrs.field(default=(), kw_only=True)

    @property
    def failure(self) -> Failure | None:
        """How the command failed for the table, if it did."""
        return None if self.error is None else failure_of(self.error)

    @property
    def exit_code(self) -> int:
        """The exit code of a process for this table."""
        return worst(self.topics) or (self.error.exit_code if self.error else 0)


def failure_of(error: IngestError) -> Failure:
    """Return the outcome of a table that an error stopped."""
    return "temporary" if isinstance(error, RetryableError) else "failed"


def worst(results: Iterable[HasExitCode]) -> int:
    """Return the exit code of several results: the smallest that is not 0.

    1 comes before 2, and both before 75: a lasting problem counts more than one that may pass.
    """
    return min((result.exit_code for result in results if result.exit_code), default=0)


def worst_error(results: Iterable[TableResult]) -> IngestError | None:
    """Return the error with the worst exit code."""
    errors = (result.error for result in results if result.error)
    return min(errors, key=lambda error: error.exit_code, default=None)


def worst_outcome(results: Iterable[TableResult]) -> Literal["done", "failed", "temporary"]:
    """Return the outcome of a command for several tables."""
    failures = {result.failure for result in results}
    return "failed" if "failed" in failures else "temporary" if "temporary" in failures else "done"
