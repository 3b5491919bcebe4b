"""Read Kafka Connect's JSON schemas as values of `ingest.avro`.

`parse` takes the `schema` object that JsonConverter writes next to a payload.  It returns the value that
`avro.parse` returns for the Avro schema of Confluent's AvroConverter, so that later packages know one form.

Sources: kafka connect `json/JsonConverter.java` (`asJsonSchema`), confluentinc/schema-registry
`AvroData.java` (`fromConnectSchema`).  One liberty: two structs may have the same name and different fields,
which Avro cannot write.  The second one gets another record name.
"""

import json
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, Final

from ingest import avro
from ingest.avro import MAX_DEPTH, Array, Field, MapOf, Notes, Nullable, Record, Scalar, Schema
from ingest.errors import SchemaError

UNKNOWN_PRECISION: Final = 64
"""The precision that Confluent's and Apicurio's AvroConverter write for a decimal without one."""

_DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"
_PHYSICALS: Final[Mapping[str, avro.Physical]] = {
    "boolean": "boolean", "int8": "int", "int16": "int", "int32": "int", "int64": "long",
    "float": "float", "double": "double", "bytes": "bytes", "string": "string",
}  # fmt: skip
_LOGICALS: Final = {
    (_DECIMAL, "bytes"): "decimal",
    ("org.apache.kafka.connect.data.Date", "int32"): "date",
    ("org.apache.kafka.connect.data.Time", "int32"): "time-millis",
    ("org.apache.kafka.connect.data.Timestamp", "int64"): "timestamp-millis",
}
_NAMESPACE: Final = "io.confluent.connect.avro"
_TODO: Final = "JsonConverter writes such schemas with schemas.enable = true"


def parse(schema: Any, *, where: str) -> Schema:
    """Parse a schema, given as parsed JSON.  Errors name it `where`.

    Raises `SchemaError`, with the path, for a value that is not a Connect schema or is nested too deep.
    """
    try:
        return _Parser(where).parse(schema, "$")
    except RecursionError:  # in a default, say
        raise SchemaError(where, "$", "is nested too deep") from None


class _Parser:
    """Holds the records parsed so far, by name."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.known: dict[str, Record] = {}
        self.nameless = 0

    def parse(self, node: Any, path: str, depth: int = 0) -> Schema:
        """Parse a schema with its null branch, which comes second in the union if the default is not null."""
        schema = self.required(node, path, depth)
        if not _bool(node.get("optional", False), self.where, path):
            return schema
        return Nullable(schema, null_first=node.get("default") is None)

    def required(self, node: Any, path: str, depth: int) -> Schema:
        if depth > MAX_DEPTH:
            raise self.error(path, f"is nested more than {MAX_DEPTH} levels deep")
        match node:
            case {"type": "struct", "fields": list(fields)}:
                return self.record(node, fields, path, depth)
            case {"type": "array", "items": items}:
                return Array(self.parse(items, f"{path}[]", depth + 1), self.notes(node, path))
            case {"type": "map", "keys": {"type": "string"}, "values": values}:
                return MapOf(self.parse(values, f"{path}{{}}", depth + 1), self.notes(node, path))
            case {"type": "map", "keys": keys, "values": values}:
                return self.entries(node, keys, values, path, depth)
            case {"type": str(kind)} if kind in _PHYSICALS:
                return Scalar(_PHYSICALS[kind], self.notes(node, path))
            case _:
                raise self.error(path, f"is not a Connect schema: {str(node)[:80]}")

    def record(self, node: Mapping[str, Any], fields: list[Any], path: str, depth: int) -> Record:
        """Parse a struct.  Return the earlier record if both are equal, as Avro names it a second time."""
        name = self.text(node, "name", path) or self.generated()
        parsed = tuple(self.field(field, path, depth) for field in fields)
        problem = avro.find_ambiguous([field.name for field in parsed])
        if problem:
            raise self.error(path, problem)
        return self.named(Record(name, parsed, self.notes(node, path)))

    def entries(self, node: Mapping[str, Any], keys: Any, values: Any, path: str, depth: int) -> Array:
        """Parse a map with keys that are not text.

        Avro cannot express it and writes an array of its entries.
        """
        key = Field("key", *self.typed(keys, f"{path}{{key}}", depth + 1))
        value = Field("value", *self.typed(values, f"{path}{{}}", depth + 1))
        entry = Record(self.text(node, "name", path) or f"{_NAMESPACE}.MapEntry", (key, value))
        return Array(self.named(entry), self.notes(node, path))

    def named(self, record: Record) -> Record:
        name, count = record.name, 1
        while name in self.known:
            if self.known[name].fields == record.fields:
                return self.known[name]
            count += 1
            name = f"{record.name}_{count}"
        self.known[name] = Record(name, record.fields, record.notes)
        return self.known[name]

    def generated(self) -> str:
        self.nameless += 1
        return f"{_NAMESPACE}.ConnectDefault{self.nameless if self.nameless > 1 else ''}"

    def field(self, node: Any, path: str, depth: int) -> Field:
        match node:
            case {"field": str(name)} if name:
                return Field(name, *self.typed(node, f"{path}.{name}", depth + 1))
            case _:
                raise self.error(path, f"has a field without a name: {str(node)[:80]}")

    def typed(self, node: Any, path: str, depth: int) -> tuple[Schema, str | None]:
        """Return a field's type and its default as JSON.

        An optional field without a default has the default null.
        """
        schema, default = self.parse(node, path, depth), node.get("default")
        if isinstance(default, str) and _is_bytes(schema):
            default = self.bytes_text(default, path)
        has_default = isinstance(schema, Nullable) or default is not None
        return schema, json.dumps(default) if has_default else None

    def bytes_text(self, default: str, path: str) -> str:
        """Return a default as Avro's JSON writes bytes: one character per byte.

        Connect's JSON writes base64.
        """
        try:
            return b64decode(default, validate=True).decode("latin-1")
        except ValueError as error:
            raise self.error(path, f"has a default that is not base64: {default[:80]}") from error

    def notes(self, node: Mapping[str, Any], path: str) -> Notes:
        name = self.text(node, "name", path)
        given = node.get("parameters") or {}
        if not isinstance(given, dict):
            raise self.error(path, f"has parameters that are not an object: {str(given)[:80]}")
        parameters = {str(key): str(value) for key, value in given.items()}
        logical = _LOGICALS.get((name, str(node.get("type"))), "")
        precision, scale = self.decimal(parameters, path) if logical == "decimal" else (None, None)
        return Notes(name, logical, precision, scale, tuple(sorted(parameters.items())))

    def decimal(self, parameters: Mapping[str, str], path: str) -> tuple[int, int]:
        """Return precision and scale, which AvroConverter repeats next to the logical type."""
        precision = parameters.get("connect.decimal.precision", str(UNKNOWN_PRECISION))
        scale = parameters.get("scale", "")
        try:
            return int(precision), int(scale)
        except ValueError as error:
            problem = f"is a decimal of precision '{precision}' and scale '{scale}'; both are numbers"
            raise self.error(path, problem) from error

    def text(self, node: Mapping[str, Any], key: str, path: str) -> str:
        value = node.get(key)
        if value is not None and not isinstance(value, str):
            raise self.error(path, f"has a {key} that is not text: {str(value)[:80]}")
        return value or ""

    def error(self, path: str, problem: str) -> SchemaError:
        return SchemaError(self.where, path, problem, _TODO)


def _is_bytes(schema: Schema) -> bool:
    inner = avro.not_null(schema)
    return isinstance(inner, Scalar) and inner.physical == "bytes"


def _bool(value: Any, where: str, path: str) -> bool:
    if not isinstance(value, bool):
        raise SchemaError(where, path, f"has an 'optional' that is neither true nor false: {value}", _TODO)
    return value
