"""Errors of the pinned jars and their repository."""

import attrs

from ingest.errors.base import PermanentError, RetryableError, sentences


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
