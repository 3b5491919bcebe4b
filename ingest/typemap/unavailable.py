"""Debezium's placeholder of unavailable values, in the form that each type gives it.

Sources: debezium `postgresql/UnchangedToastedPlaceholder.java`,
`processors/reselect/ReselectColumnsPostProcessor.java`, and the documentation of
`unavailable.value.placeholder`.
"""

import hashlib
import json
import struct
import uuid

from ingest import avro
from ingest.sql.template import Sql, binary, join, literal, sql

_TEXTS = frozenset(
    {
        "",
        *(f"io.debezium.data.{name}" for name in ("Xml", "Ltree", "Tsvector", "Enum", "EnumSet")),
    }
)
_JSON = "io.debezium.data.Json"
_UUID = "io.debezium.data.Uuid"


def unavailable_sql(schema: avro.Schema, placeholder: str) -> Sql | None:
    """Return a condition that is true for the placeholder in `{c}`, or None for a type without one.

    The value is the decoded one: types with a conversion have no placeholder.
    """
    octets = _octets(placeholder)
    text = _text(octets)
    match avro.not_null(schema):
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS:
            return sql("{c} = {text}", text=literal(text))
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _JSON:
            return sql("{c} in ({texts})", texts=join(", ", map(literal, [text, *_pairs(text)])))
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return sql("{c} = {octets}", octets=binary(octets))
        case avro.Array(items=items):
            elements = _elements(avro.not_null(items), octets)
            return sql("{c} = array({elements})", elements=elements) if elements else None
        case avro.MapOf(values=values) if avro.not_null(values) == avro.Scalar("string"):
            return sql("map_keys({c}) = array({text})", text=literal(text))
        case _:
            return None


def _octets(placeholder: str) -> bytes:
    """Return the option's bytes as the connector reads it: hexadecimal after `hex:`, else as UTF-8."""
    hexadecimal = placeholder.removeprefix("hex:")
    return placeholder.encode() if hexadecimal == placeholder else bytes.fromhex(hexadecimal)


def _text(octets: bytes) -> str:
    return octets.decode(errors="replace")  # as Java's `new String(bytes)` reads them


def _pairs(text: str) -> list[str]:
    """Return the JSON objects `{"P":"P"}` that Jackson writes."""
    return [
        json.dumps({text: text}, ensure_ascii=False, separators=(",", colon)) for colon in (":", ": ", " : ")
    ]


def _elements(item: avro.Schema, octets: bytes) -> Sql | None:
    """Return the elements of the array that replaces an unavailable one."""
    codes = struct.unpack(f"{len(octets)}b", octets)  # Java's bytes have signs
    match item:
        case avro.Scalar(physical="string", notes=notes) if notes.semantic == _UUID:
            return literal(str(_name_uuid(octets)))
        case avro.Scalar(physical="string", notes=notes) if notes.semantic in _TEXTS | {_JSON}:
            return literal(_text(octets))
        case avro.Scalar(physical="bytes", notes=notes) if not notes.semantic:
            return binary(octets)
        case avro.Scalar(physical="int", notes=notes) if codes and not notes.semantic:
            return join(", ", (sql("{code}", code=code) for code in codes))
        case avro.Scalar(physical="long", notes=notes) if codes and not notes.semantic:
            return join(", ", (sql("{code}L", code=code) for code in codes))
        case _:
            return None


def _name_uuid(name: bytes) -> uuid.UUID:
    """Return the result of Java's `UUID.nameUUIDFromBytes`: an MD5 digest marked as version 3."""
    return uuid.UUID(bytes=hashlib.md5(name, usedforsecurity=False).digest(), version=3)
