"""Parse a server's answers; a `TypeError` means that it is not a schema registry."""

from confluent_kafka.schema_registry import RegisteredSchema
from confluent_kafka.schema_registry import Schema as ClientSchema

from ingest.errors import SchemaError
from ingest.names import SchemaId, Subject
from ingest.registry.subject import CompatibilityResult, Reference, Registered, Schema

_OLDER = "{oldSchema: "


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
    return Registered(subject, version, schema.id, schema.schema_text, schema.references)


def read_schema(schema_id: SchemaId, where: str, answer: ClientSchema) -> Schema:
    """Read a schema; Avro only."""
    text = _text(answer.schema_str)
    if answer.schema_type not in (None, "AVRO"):
        raise SchemaError(where, "schemaType", f"found {answer.schema_type}, allowed: AVRO")
    references = tuple(
        Reference(_text(item.name), Subject(_text(item.subject)), _number(item.version))
        for item in answer.references or ()
    )
    return Schema(schema_id, text, references)


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
