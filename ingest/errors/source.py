"""Errors of source databases."""

import attrs

from ingest.errors.base import PermanentError, RetryableError, sentences


@attrs.frozen
class SourceRefusedError(PermanentError):
    """A source database refused a login or a query, or is not the one that the topic comes from."""

    source: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(f"source {self.source}: {self.problem}", self.todo)


@attrs.frozen
class SourceUnreachableError(RetryableError):
    """A source database that does not answer, or that ended a connection or a query."""

    source: str
    problem: str

    def __str__(self) -> str:
        return sentences(f"source {self.source}: {self.problem}", "Try again")
