"""The interface of registries, live, a folder or absent, queries of several requests, and suggestions."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Final, NoReturn, Protocol

import attrs

from ingest.config.rules import suggest
from ingest.errors import IngestError, SchemaError, SchemaNotFoundError, SettingsError
from ingest.names import SchemaId, Subject, first_few
from ingest.registry.subject import (
    CompatibilityResult,
    FrameId,
    Newest,
    Reference,
    Registered,
    Schema,
    split_subject,
    subject_of,
)
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

    def newest(self, subjects: Collection[Subject]) -> Mapping[Subject, Newest]:
        """Return the newest versions of many subjects by few requests, as far as the registry lists them.

        The result lacks subjects, all of them if the registry has far more schemas.  Raises
        `RegistryRefusedError` for a registry without such a list.
        """
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
    live = frozenset(_live(registry, subject)) if len(every) > 1 else frozenset[int]()
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
    """The registry of a deployment without a URL, such as one of JSON topics: every query fails."""

    url = ""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        """Raise `SettingsError`."""
        where = "Set [registry] url in the settings file, or INGEST_REGISTRY_URL"
        todo = f"{where}. `ingest init` writes that file"
        raise SettingsError("settings", "registry.url", "is not set", todo)

    subjects = versions = newest = latest = version = by_id = frame_ids = by_frame_id = _refuse
    with_references = compatibility = compatible = register = _refuse

    def close(self) -> None:
        """Close nothing."""


@contextmanager
def suggesting(registry: Registry, subject: Subject, todo: str = "") -> Iterator[None]:
    """Add a suggestion to the error of a missing subject or version, or `todo` if no name is near."""
    try:
        yield
    except SchemaNotFoundError as error:
        raise attrs.evolve(error, todo=error.todo or _suggestion(registry, subject) or todo) from None


def _suggestion(registry: Registry, subject: Subject) -> str:
    """Suggest versions of a subject, the subjects of a topic, or the nearest name.  Empty without any."""
    try:
        subjects = registry.subjects()
        if subject in subjects:
            numbers = [str(number) for number in registry.versions(subject)]
            return f"Its versions are: {first_few(numbers)}"
    except IngestError:  # a suggestion must not hide the error
        return ""
    of_topic = [name for name in (f"{subject}-value", f"{subject}-key") if name in subjects]
    if of_topic:
        return f"Did you mean '{of_topic[0]}'?"
    return suggest(subject, [name for name in subjects if name != _opposite(subject)])


def _opposite(subject: Subject) -> Subject | None:
    """Return the key's subject for a value's, and the reverse: a deleted one is not a misspelled one."""
    parts = split_subject(subject)
    if parts is None:
        return None
    topic, side = parts
    return subject_of(topic, "key" if side == "value" else "value")
