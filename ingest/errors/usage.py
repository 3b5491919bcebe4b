"""Errors of a command line, a settings file, a table file or a folder."""

from collections.abc import Iterable
from pathlib import PurePath
from typing import Any, TypeVar

import attrs

from ingest.errors.base import UserError, sentences

F = TypeVar("F", bound="_FileError")


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
