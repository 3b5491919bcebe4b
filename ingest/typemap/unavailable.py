"""How Debezium says that a value is unavailable, type by type: the placeholder in each of its forms.

Sources: debezium `postgresql/UnchangedToastedPlaceholder.java`,
`processors/reselect/ReselectColumnsPostProcessor.java`; documentation: `unavailable.value.placeholder`.
"""

import hashlib
import json
import struct
import uuid

from ingest import avro
from ingest.typemap.sparktype import literal

_TEXTS = frozenset(
    {
        "",
        *(f"io.debezium.data.{name}" for name in ("Xml", "Ltree", "Tsvector", "Enum", "EnumSet")),
    }
)
_JSON = "io.debezium.data.Json"
_UUID = "io.debezium.data.Uuid"


def unavailable_sql(schema: avro.Schema, placeholder: str) -> str:
    """Return SQL over a value `{c}` that is true for the placeholder; empty for a type that never has it.

    The value is the decoded one: types whose values are converted have no placeholder.
    """
    octets = _octets(placeholder)
    text = literal(_text(octets))
    match avro.not_null(schema):
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS:
            return f"{{c}} = {text}"
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _JSON:
            pairs = _pairs(_text(octets))
            return f"{{c}} in ({', '.join([text, *map(literal, pairs)])})"
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return f"{{c}} = {_bytes(octets)}"
        case avro.Array(items=items):
            element = _element(avro.not_null(items), octets)
            return f"{{c}} = array({element})" if element else ""
        case avro.MapOf(values=values) if avro.not_null(values) == avro.Scalar("string"):
            return f"map_keys({{c}}) = array({text})"
        case _:
            return ""


def _octets(placeholder: str) -> bytes:
    """Return the connector's own reading of its option: `hex:` is followed by bytes."""
    hexadecimal = placeholder.removeprefix("hex:")
    return placeholder.encode() if hexadecimal == placeholder else bytes.fromhex(hexadecimal)


def _text(octets: bytes) -> str:
    return octets.decode(errors="replace")  # as Java's `new String(bytes)` reads them


def _pairs(text: str) -> list[str]:
    """Return the JSON objects `{"P":"P"}` that Jackson writes."""
    return [
        json.dumps({text: text}, ensure_ascii=False, separators=(",", colon)) for colon in (":", ": ", " : ")
    ]


def _element(item: avro.Schema, octets: bytes) -> str:
    """Return the elements of an array that stands for an unavailable one."""
    codes = struct.unpack(f"{len(octets)}b", octets)  # Java's bytes have signs
    match item:
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _UUID:
            return literal(str(_name_uuid(octets)))
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS | {_JSON}:
            return literal(_text(octets))
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return _bytes(octets)
        case avro.Scalar(physical="int", notes=notes) if not notes.semantic:
            return ", ".join(str(code) for code in codes)
        case avro.Scalar(physical="long", notes=notes) if not notes.semantic:
            return ", ".join(f"{code}L" for code in codes)
        case _:
            return ""


def _name_uuid(name: bytes) -> uuid.UUID:
    """Return what Java's `UUID.nameUUIDFromBytes` makes: an MD5 digest marked as version 3."""
    return uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3)


def _bytes(octets: bytes) -> str:
    return f"X'{octets.hex().upper()}'"
