"""Errors of source databases."""

import attrs

from ingest.errors.base import PermanentError, RetryableError, sentences


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
