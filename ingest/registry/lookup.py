"""What any registry answers, live or a folder, and the questions that need several answers."""

from collections.abc import Iterator
from typing import Final, Protocol

from ingest.errors import SchemaError, SchemaNotFoundError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import CompatibilityResult, Reference, Registered, Schema

MAX_REFERENCES: Final = 200
"""Schemas that one may need; each is a request, and may name others."""


class Registry(Protocol):
    """A schema registry.  Version -1 stands for the latest, as in Confluent's API.

    Raises SchemaNotFoundError for what is not there, RegistryUnreachableError and
    RegistryRefusedError for servers that do not answer or say no.
    """

    @property
    def url(self) -> str:
        """Where the registry is, without passwords."""
        ...

    def subjects(self, pattern: str = "*") -> tuple[Subject, ...]:
        """Return the subjects that match a glob, sorted; soft-deleted ones are left out."""
        ...

    def versions(self, subject: Subject, *, deleted: bool = False) -> tuple[int, ...]:
        """Return a subject's versions, rising; `deleted` includes the soft-deleted ones."""
        ...

    def latest(self, subject: Subject) -> Registered:
        """Return a subject's newest version, asked anew each time."""
        ...

    def version(self, subject: Subject, number: int) -> Registered:
        """Return one version of a subject, soft-deleted ones included."""
        ...

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of an id, soft-deleted ones included; asked once and kept."""
        ...

    def with_references(self, schema: Schema | Registered) -> tuple[str, ...]:
        """Return the texts that a schema needs, each before those that use it, its own last."""
        ...

    def compatibility(self, subject: Subject) -> str:
        """Return the compatibility level that holds for a subject, such as `BACKWARD`."""
        ...

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> CompatibilityResult:
        """Ask whether the registry would take a schema as a subject's next version; nothing is stored.

        With `version`: whether it could have followed that one, by the level of today.  Apicurio 3.3.3 then
        gives no reasons, and refuses schemas with references.
        """
        ...

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaId:
        """Register a schema under a subject; the same schema again gives the same id."""
        ...

    def close(self) -> None:
        """Close what is open; the registry is of no use afterwards."""
        ...


def deleted_versions(registry: Registry, subject: Subject) -> frozenset[int]:
    """Return the versions of a subject that are soft-deleted: not listed, while messages may need them."""
    return frozenset(registry.versions(subject, deleted=True)) - frozenset(_live(registry, subject))


def versions_in_order(registry: Registry, subject: Subject) -> tuple[int, ...]:
    """Return all versions of a subject, the soft-deleted ones first: the last one is the latest."""
    every = registry.versions(subject, deleted=True)
    live = frozenset(_live(registry, subject))
    return tuple(sorted(every, key=lambda number: (number in live, number)))


def _live(registry: Registry, subject: Subject) -> tuple[int, ...]:
    try:
        return registry.versions(subject)
    except SchemaNotFoundError:  # all are deleted
        return ()


def texts_in_order(registry: Registry, schema: Schema | Registered) -> tuple[str, ...]:
    """Resolve references, each version once, depth first: what is used comes before its user.

    Raises `SchemaError` for more of them than anybody has.
    """
    seen: set[tuple[Subject, int]] = set()

    def needed(of: Schema | Registered) -> Iterator[str]:
        for reference in of.references:
            place = (reference.subject, reference.version)
            if place not in seen:
                seen.add(place)
                if len(seen) > MAX_REFERENCES:
                    problem = f"needs more than {MAX_REFERENCES} other schemas, the limit"
                    raise SchemaError(f"schema id {schema.id}", "references", problem)
                yield from needed(registry.version(*place))
        yield of.schema_text

    return tuple(needed(schema))
