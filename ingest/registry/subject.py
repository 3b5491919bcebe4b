"""Subjects and what a registry holds under them, as values."""

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
class CompatibilityResult:
    """What a registry says about a new version; `messages` may be empty even for a no."""

    compatible: bool
    messages: tuple[str, ...] = ()


def subject_of(topic: Topic, side: Side) -> Subject:
    """Name the subject of a topic's key or value, by Confluent's topic strategy."""
    return Subject(f"{topic}-{side}")


def split_subject(subject: Subject) -> tuple[Topic, Side] | None:
    """Take a subject apart; None if it does not follow the topic strategy."""
    if subject.endswith("-value") and subject != "-value":
        return Topic(subject.removesuffix("-value")), "value"
    if subject.endswith("-key") and subject != "-key":
        return Topic(subject.removesuffix("-key")), "key"
    return None


def literal_prefix(pattern: str) -> str:
    """Return what a glob begins with before its first wildcard."""
    return pattern[: min((pattern.index(sign) for sign in "*?[" if sign in pattern), default=None)]
