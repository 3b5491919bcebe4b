"""Errors of a command line, a settings file, a table file or a folder."""

import attrs

from ingest.errors.base import UserError, sentences


@attrs.frozen
class UsageError(UserError):
    """A command line that cannot be executed."""

    problem: str
    todo: str = ""

    def __str__(self) -> str:
        return sentences(self.problem, self.todo)


@attrs.frozen
class SettingsError(UserError):
    """A settings file, environment variable or flag with a wrong value; `key` is its dotted path."""

    source: str
    key: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.source}: {self.key}" if self.key else self.source
        return sentences(f"{where}: {self.problem}", self.todo)


@attrs.frozen
class TableFileError(UserError):
    """A table file that cannot be read; `key` is the dotted path inside it."""

    path: str
    key: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: {self.key}" if self.key else self.path
        return sentences(f"{where}: {self.problem}", self.todo)


@attrs.frozen
class FixtureError(UserError):
    """A fixture or corpus folder that cannot be loaded; `where` is a line, record or field of `path`."""

    path: str
    where: str
    problem: str
    todo: str = ""

    def __str__(self) -> str:
        where = f"{self.path}: {self.where}" if self.where else self.path
        return sentences(f"{where}: {self.problem}", self.todo)
