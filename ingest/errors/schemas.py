"""Errors of the schema registry and of schemas."""

import attrs

from ingest.errors.base import DOCTOR, PermanentError, RetryableError, sentences


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
