"""Subjects, and the schemas that a registry stores under them."""

from typing import Literal

import attrs

from ingest.json_values import JsonValue
from ingest.names import SchemaId, Subject, Topic
from ingest.tables import IdKind

Side = Literal["key", "value"]


FieldTags = tuple[tuple[str, tuple[str, ...]], ...]
"""The tags of fields in a schema's metadata: a path with wildcards, such as `**.email`, and its tags."""


@attrs.frozen(order=True)
class FrameId:
    """The id of a schema as a framing other than Confluent's first one names it."""

    kind: IdKind
    text: str

    def __str__(self) -> str:
        return f"{self.kind} {self.text}"

    @classmethod
    def parse(cls, text: str) -> "FrameId":
        """Parse the text that `str` writes."""
        kind, _, number = text.partition(" ")
        return cls(kind, number)  # type: ignore[arg-type]  # of the framings that the JVM knows


@attrs.frozen
class Reference:
    """A named type that a schema imports from another subject's version."""

    name: str
    subject: Subject
    version: int


@attrs.frozen
class Schema:
    """A schema by id.  Several subjects' versions may share the id."""

    id: SchemaId
    schema_text: str
    references: tuple[Reference, ...] = ()
    tags: FieldTags = ()


@attrs.frozen
class Registered(JsonValue):
    """One version of a subject.  The registry answers `frame_ids` with the version itself."""

    json_keys = "version id"

    subject: Subject
    version: int
    id: SchemaId
    schema_text: str
    references: tuple[Reference, ...] = ()
    frame_ids: tuple[FrameId, ...] = ()
    tags: FieldTags = ()


@attrs.frozen
class Newest:
    """The newest version of a subject, soft-deleted versions included."""

    id: SchemaId
    is_only: bool
    """Whether the subject has no other version."""


@attrs.frozen
class CompatibilityResult:
    """Whether a new version is compatible.  `messages` may be empty even if it is not."""

    compatible: bool
    messages: tuple[str, ...] = ()


def subject_of(topic: Topic, side: Side) -> Subject:
    """Return the subject of a topic's key or value, by Confluent's TopicNameStrategy."""
    return Subject(f"{topic}-{side}")


def split_subject(subject: Subject) -> tuple[Topic, Side] | None:
    """Split a subject into topic and side.  Return None if it does not follow TopicNameStrategy."""
    if subject.endswith("-value") and subject != "-value":
        return Topic(subject.removesuffix("-value")), "value"
    if subject.endswith("-key") and subject != "-key":
        return Topic(subject.removesuffix("-key")), "key"
    return None


def literal_prefix(pattern: str) -> str:
    """Return the part of a glob before its first wildcard."""
    return pattern[: min((pattern.index(sign) for sign in "*?[" if sign in pattern), default=None)]
