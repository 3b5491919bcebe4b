"""Parse a server's answers.  A `TypeError` means that it is not a schema registry."""

from typing import Final

import attrs
from confluent_kafka.schema_registry import RegisteredSchema
from confluent_kafka.schema_registry import Schema as ClientSchema

from ingest.errors import SchemaError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import CompatibilityResult, FieldTags, FrameId, Reference, Registered, Schema

_OLDER = "{oldSchema: "
NOT_AVRO: Final = (
    "Let the connector write Avro (AvroConverter) to a topic of its own, or JSON (JsonConverter): "
    "`ingest onboard TOPIC --format debezium-json`"
)
"""The advice for subjects of JSON Schema and Protobuf."""


def read_subjects(answer: object) -> tuple[Subject, ...]:
    """Read a list of names."""
    return tuple(Subject(_text(name)) for name in _list(answer))


def read_versions(answer: object) -> tuple[int, ...]:
    """Read a list of version numbers."""
    return tuple(sorted(_number(number) for number in _list(answer)))


def read_level(answer: object) -> str:
    """Read a compatibility level."""
    return _text(answer)


def read_id(answer: object) -> SchemaId:
    """Read a schema id."""
    return SchemaId(_number(answer))


def read_registered(answer: RegisteredSchema) -> Registered:
    """Read one version of a subject."""
    subject, version = Subject(_text(answer.subject)), _number(answer.version)
    where = f"subject {subject} version {version}"
    schema = read_schema(read_id(answer.schema_id), where, answer.schema)
    frame_ids = (FrameId("GUID", _text(answer.guid).lower()),) if answer.guid else ()
    text, references = schema.schema_text, schema.references
    return Registered(subject, version, schema.id, text, references, frame_ids, schema.tags)


def read_schema(schema_id: SchemaId, where: str, answer: ClientSchema) -> Schema:
    """Read a schema.  Only Avro is allowed."""
    text = _text(answer.schema_str)
    if answer.schema_type not in (None, "AVRO"):
        raise SchemaError(where, "schemaType", f"found {answer.schema_type}, allowed: AVRO", NOT_AVRO)
    references = tuple(
        Reference(_text(item.name), Subject(_text(item.subject)), _number(item.version))
        for item in answer.references or ()
    )
    return Schema(schema_id, text, references, _tags(answer))


def _tags(answer: ClientSchema) -> FieldTags:
    """Read the tags of fields in a schema's metadata, or an empty tuple if the registry has no metadata."""
    tags = answer.metadata.tags if answer.metadata else None
    if tags is None:
        return ()
    return tuple((_text(path), tuple(map(_text, _list(names)))) for path, names in tags.tags.items())


def read_verdict(answer: object) -> CompatibilityResult:
    """Read the result of a compatibility check, without the full older schema that Confluent adds."""
    fields = _fields(answer)
    compatible = fields["is_compatible"]
    if not isinstance(compatible, bool):
        raise TypeError(compatible)
    messages = (_text(message) for message in _list(fields.get("messages") or []))
    return CompatibilityResult(compatible, tuple(text for text in messages if not text.startswith(_OLDER)))


def read_causes(answer: object) -> tuple[str, ...]:
    """Read the reasons for a refusal from Apicurio's own API."""
    causes = (_fields(cause) for cause in _list(_fields(answer)["causes"]))
    return tuple(f"{_text(cause['description'])} at {_text(cause['context'])}" for cause in causes)


def read_id_of_guid(answer: object) -> SchemaId:
    """Read the id of a GUID in the default context, `.`, which sorts before the others."""
    ids = sorted((str(fields.get("context", ".")), fields["id"]) for fields in map(_fields, _list(answer)))
    return read_id(ids[0][1])


def read_own_ids(answer: object) -> tuple[FrameId, ...]:
    """Read the ids of a version from Apicurio's own API."""
    fields = _fields(answer)
    return tuple(FrameId(kind, str(_number(fields[kind]))) for kind in ("globalId", "contentId"))


def read_own_versions(answer: object) -> tuple[tuple[Subject, int], ...]:
    """Read the numbered versions of a search in Apicurio's own API.  Confluent's API counts them from 1."""
    versions = (_fields(version) for version in _list(_fields(answer)["versions"]))
    return tuple(
        (Subject(_text(version["artifactId"])), int(_text(version["version"])))
        for version in versions
        if _text(version["version"]).isdecimal()
    )


@attrs.frozen
class OwnVersion:
    """A version in a list of Apicurio's own API.  Later versions of a subject have higher `global_id`s."""

    subject: Subject
    global_id: int
    content_id: int
    state: str


def read_own_page(answer: object) -> tuple[tuple[OwnVersion, ...], int]:
    """Read a page of versions from Apicurio's own API, and the number of versions of the whole list."""
    page = map(_fields, _list(_fields(answer)["versions"]))
    versions = (
        OwnVersion(
            Subject(_text(fields["artifactId"])),
            _number(fields["globalId"]),
            _number(fields["contentId"]),
            _text(fields["state"]),
        )
        for fields in page
    )
    return tuple(versions), _number(_fields(answer)["count"])


ListedVersion = tuple[Subject, int, SchemaId]
"""Subject, version and id of a schema in a list of Confluent's API."""


def read_listed(answer: object) -> tuple[ListedVersion, ...]:
    """Read a list of schemas, without their texts."""
    listed = map(_fields, _list(answer))
    return tuple(
        (Subject(_text(fields["subject"])), _number(fields["version"]), read_id(fields["id"]))
        for fields in listed
    )


def _fields(answer: object) -> dict[str, object]:
    if not isinstance(answer, dict):
        raise TypeError(answer)
    return answer


def _list(answer: object) -> list[object]:
    if not isinstance(answer, list):
        raise TypeError(answer)
    return answer


def _text(answer: object) -> str:
    if not isinstance(answer, str):
        raise TypeError(answer)
    return answer


def _number(answer: object) -> int:
    if type(answer) is not int:
        raise TypeError(answer)
    return answer
