"""Subjects, and the schemas that a registry stores under them."""

from typing import Literal

import attrs

from ingest.names import SchemaId, Subject, Topic

Side = Literal["key", "value"]


@attrs.frozen
class Reference:
    """A named type that a schema imports from another subject's version."""

    name: str
    subject: Subject
    version: int


@attrs.frozen
class Schema:
    """A schema by id; several subjects' versions may share the id."""

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
    """Whether a new version is compatible; `messages` may be empty even if it is not."""

    compatible: bool
    messages: tuple[str, ...] = ()


def subject_of(topic: Topic, side: Side) -> Subject:
    """Return the subject of a topic's key or value, by Confluent's TopicNameStrategy."""
    return Subject(f"{topic}-{side}")


def split_subject(subject: Subject) -> tuple[Topic, Side] | None:
    """Split a subject into topic and side; None if it does not follow TopicNameStrategy."""
    if subject.endswith("-value") and subject != "-value":
        return Topic(subject.removesuffix("-value")), "value"
    if subject.endswith("-key") and subject != "-key":
        return Topic(subject.removesuffix("-key")), "key"
    return None


def literal_prefix(pattern: str) -> str:
    """Return the part of a glob before its first wildcard."""
    return pattern[: min((pattern.index(sign) for sign in "*?[" if sign in pattern), default=None)]
