"""How Debezium says that a value is unavailable, type by type: the placeholder in each of its forms.

Sources: debezium `postgresql/UnchangedToastedPlaceholder.java`,
`processors/reselect/ReselectColumnsPostProcessor.java`; documentation: `unavailable.value.placeholder`.
"""

import hashlib
import uuid

from ingest import avro

_TEXTS = frozenset(
    {
        "",
        *(f"io.debezium.data.{name}" for name in ("Xml", "Ltree", "Tsvector", "Enum", "EnumSet")),
        "cdc.data.Decimal",
    }
)
_JSON = "io.debezium.data.Json"
_UUID = "io.debezium.data.Uuid"


def unavailable_sql(schema: avro.Schema, placeholder: str) -> str:
    """Return SQL over a value `{c}` that is true for the placeholder; empty for a type that never has it.

    The value is the decoded one: types whose values are converted have no placeholder.
    """
    text = _literal(placeholder)
    match avro.not_null(schema):
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS:
            return f"{{c}} = {text}"
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _JSON:
            pairs = (f'{{"{placeholder}":{space}"{placeholder}"}}' for space in ("", " "))
            return f"{{c}} in ({', '.join([text, *map(_literal, pairs)])})"
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return f"{{c}} = {_bytes(placeholder)}"
        case avro.Array(items=items):
            element = _element(avro.not_null(items), placeholder)
            return f"{{c}} = array({element})" if element else ""
        case avro.MapOf(values=values) if avro.not_null(values) == avro.Scalar("string"):
            return f"map_keys({{c}}) = array({text})"
        case _:
            return ""


def _element(item: avro.Schema, placeholder: str) -> str:
    """Return the elements of an array that stands for an unavailable one."""
    codes = placeholder.encode()
    match item:
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _UUID:
            return _literal(str(_name_uuid(codes)))
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS | {_JSON}:
            return _literal(placeholder)
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return _bytes(placeholder)
        case avro.Scalar(physical="int", notes=notes) if not notes.semantic:
            return ", ".join(str(code) for code in codes)
        case avro.Scalar(physical="long", notes=notes) if not notes.semantic:
            return ", ".join(f"{code}L" for code in codes)
        case _:
            return ""


def _name_uuid(name: bytes) -> uuid.UUID:
    """Return what Java's `UUID.nameUUIDFromBytes` makes: an MD5 digest marked as version 3."""
    return uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3)


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _bytes(placeholder: str) -> str:
    return f"X'{placeholder.encode().hex().upper()}'"
