"""Subjects and what a registry holds under them, as values.

Subjects follow Confluent's topic strategy: `<topic>-key` and `<topic>-value`.
"""

from collections.abc import Iterable
from fnmatch import fnmatchcase
from typing import Literal

import attrs

from ingest.names import SchemaId, Subject, Topic

Side = Literal["key", "value"]


@attrs.frozen
class Reference:
    """A named type that a schema takes from another subject's version."""

    name: str
    subject: Subject
    version: int


@attrs.frozen
class Schema:
    """A schema as its id gives it: the id may stand for several subjects' versions."""

    id: SchemaId
    schema_text: str
    references: tuple[Reference, ...] = ()


@attrs.frozen
class Registered:
    """One version of a subject."""

    subject: Subject
    version: int
    id: SchemaId
    schema_text: str
    references: tuple[Reference, ...] = ()


@attrs.frozen
class Pair:
    """A topic's newest schemas; `key` is None where the topic has no key subject."""

    topic: Topic
    key: Registered | None
    value: Registered


@attrs.frozen
class Verdict:
    """What a registry says about a new version; `messages` may be empty even for a no."""

    compatible: bool
    messages: tuple[str, ...] = ()


def subject_of(topic: Topic, side: Side) -> Subject:
    """Name the subject of a topic's key or value."""
    return Subject(f"{topic}-{side}")


def split_subject(subject: Subject) -> tuple[Topic, Side] | None:
    """Take a subject apart; None if it does not follow the topic strategy."""
    if subject.endswith("-value") and subject != "-value":
        return Topic(subject.removesuffix("-value")), "value"
    if subject.endswith("-key") and subject != "-key":
        return Topic(subject.removesuffix("-key")), "key"
    return None


def topics_of(subjects: Iterable[Subject], pattern: str = "*") -> tuple[Topic, ...]:
    """Return the topics with a value subject that match a glob, sorted; case counts."""
    parts = (split_subject(subject) for subject in subjects)
    topics = {part[0] for part in parts if part is not None and part[1] == "value"}
    return tuple(sorted(topic for topic in topics if fnmatchcase(topic, pattern)))


def literal_prefix(pattern: str) -> str:
    """Return what a glob begins with before its first wildcard."""
    return pattern[: min((pattern.index(sign) for sign in "*?[" if sign in pattern), default=None)]
