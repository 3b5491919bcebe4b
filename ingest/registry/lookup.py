"""The interface of registries, live, a folder or absent, and queries that need several requests."""

# ruff: noqa: ARG002  an absent registry has one answer to every query

from collections.abc import Iterator
from typing import Final, NoReturn, Protocol

from ingest.errors import SchemaError, SchemaNotFoundError, SettingsError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import CompatibilityResult, FrameId, Reference, Registered, Schema
from ingest.tables import IdKind

MAX_REFERENCES: Final = 200
"""Limit of schemas that one schema may reference, directly or not.  Each one is a request."""

_HOW: Final[dict[IdKind, str]] = {
    "GUID": "Confluent's registry gives GUIDs from Confluent Platform 8.0 on",
    "globalId": "[registry] url must be Apicurio's address of Confluent's API, …/apis/ccompat/v7",
    "contentId": "[registry] url must be Apicurio's address of Confluent's API, …/apis/ccompat/v7",
    "schemaVersionId": "Record Glue's answers in a folder, and name it in [registry] url: docs/registries.md",
}


class Registry(Protocol):
    """A schema registry.  Version -1 is the latest, as in Confluent's API.

    Raises `SchemaNotFoundError` for a missing subject, version or id, `RegistryUnreachableError` and
    `RegistryRefusedError` for servers that do not answer or refuse.
    """

    @property
    def url(self) -> str:
        """The registry's address, without passwords."""
        ...

    def subjects(self, pattern: str = "*") -> tuple[Subject, ...]:
        """Return the subjects that match a glob, sorted, without soft-deleted ones."""
        ...

    def versions(self, subject: Subject, *, deleted: bool = False) -> tuple[int, ...]:
        """Return a subject's versions in ascending order.  `deleted` includes the soft-deleted ones."""
        ...

    def latest(self, subject: Subject) -> Registered:
        """Return a subject's newest version.  Every call is a request."""
        ...

    def version(self, subject: Subject, number: int) -> Registered:
        """Return one version of a subject, soft-deleted ones included."""
        ...

    def by_id(self, schema_id: SchemaId) -> Schema:
        """Return the schema of an id, soft-deleted ones included.  The answer is cached."""
        ...

    def frame_ids(self, registered: Registered, kinds: frozenset[IdKind]) -> tuple[FrameId, ...]:
        """Return a version's ids of these kinds, as framings name it.

        Raises `SchemaNotFoundError` for kinds of id that the registry does not give.
        """
        ...

    def by_frame_id(self, frame_id: FrameId) -> Schema:
        """Return the schema that a framing names."""
        ...

    def with_references(self, schema: Schema | Registered) -> tuple[str, ...]:
        """Return the texts of a schema's references and its own text, each after the texts that it uses."""
        ...

    def compatibility(self, subject: Subject) -> str:
        """Return the compatibility level that applies to a subject, such as `BACKWARD`."""
        ...

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> CompatibilityResult:
        """Ask whether the registry would accept a schema as a subject's next version.  Nothing is stored.

        With `version`, ask whether it could have followed that version, by the current level.  Apicurio 3.3.3
        then returns no reasons, and refuses schemas with references.
        """
        ...

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> SchemaId:
        """Register a schema under a subject.  Registering it again returns the same id."""
        ...

    def close(self) -> None:
        """Close connections.  The registry cannot be used afterwards."""
        ...


def chosen_ids(
    url: str, registered: Registered, frame_ids: tuple[FrameId, ...], kinds: frozenset[IdKind]
) -> tuple[FrameId, ...]:
    """Return the ids of some kinds.  Raises `SchemaNotFoundError` for a missing id that is needed."""
    ids = tuple(frame_id for frame_id in frame_ids if frame_id.kind in kinds)
    needed = sorted(kinds - {"id"})
    if needed and not ids:
        item = f"the {' or '.join(needed)} of subject {registered.subject} version {registered.version}"
        raise SchemaNotFoundError(url, item, _HOW[needed[0]])
    return ids


def deleted_versions(registry: Registry, subject: Subject) -> frozenset[int]:
    """Return the versions of a subject that are soft-deleted.  Messages may still need them."""
    return frozenset(registry.versions(subject, deleted=True)) - frozenset(_live(registry, subject))


def versions_in_order(registry: Registry, subject: Subject) -> tuple[int, ...]:
    """Return all versions of a subject, soft-deleted ones first, so that the last is the latest."""
    every = registry.versions(subject, deleted=True)
    live = frozenset(_live(registry, subject))
    return tuple(sorted(every, key=lambda number: (number in live, number)))


def _live(registry: Registry, subject: Subject) -> tuple[int, ...]:
    try:
        return registry.versions(subject)
    except SchemaNotFoundError:  # all versions are deleted
        return ()


def texts_in_order(registry: Registry, schema: Schema | Registered) -> tuple[str, ...]:
    """Resolve references depth first, each version once: every text comes after the texts that it uses.

    Raises `SchemaError` above `MAX_REFERENCES`.
    """
    seen: set[tuple[Subject, int]] = set()

    def texts(parent: Schema | Registered) -> Iterator[str]:
        for reference in parent.references:
            version = (reference.subject, reference.version)
            if version not in seen:
                seen.add(version)
                if len(seen) > MAX_REFERENCES:
                    problem = f"needs more than {MAX_REFERENCES} other schemas, the limit"
                    raise SchemaError(f"schema id {schema.id}", "references", problem)
                yield from texts(registry.version(*version))
        yield parent.schema_text

    return tuple(texts(schema))


class AbsentRegistry:
    """The registry of a deployment without a URL: every query raises `SettingsError`.

    JSON topics need no registry.  A run opens its registry before it knows whether a table needs it.  A
    nullable registry would put the same test at each query.
    """

    url = ""

    def subjects(self, pattern: str = "*") -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def versions(self, subject: Subject, *, deleted: bool = False) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def latest(self, subject: Subject) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def version(self, subject: Subject, number: int) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def by_id(self, schema_id: SchemaId) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def frame_ids(self, registered: Registered, kinds: frozenset[IdKind]) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def by_frame_id(self, frame_id: FrameId) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def with_references(self, schema: Schema | Registered) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def compatibility(self, subject: Subject) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def compatible(
        self,
        subject: Subject,
        schema_text: str,
        references: tuple[Reference, ...] = (),
        *,
        version: int | None = None,
    ) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def register(
        self, subject: Subject, schema_text: str, references: tuple[Reference, ...] = ()
    ) -> NoReturn:
        """Raise `SettingsError`."""
        _refuse()

    def close(self) -> None:
        """Close nothing."""


def _refuse() -> NoReturn:
    todo = "Set [registry] url in the settings file, or INGEST_REGISTRY_URL. `ingest init` writes that file"
    raise SettingsError("settings", "registry.url", "is not set", todo)
