"""Suggestions for subjects and versions that a registry does not hold."""

from collections.abc import Iterator
from contextlib import contextmanager

import attrs

from ingest.config.rules import suggest
from ingest.errors import IngestError, SchemaNotFoundError
from ingest.names import Subject, first_few
from ingest.registry.lookup import Registry
from ingest.registry.subject import split_subject, subject_of


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
