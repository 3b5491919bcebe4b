"""The one parser of Avro's JSON."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from ingest.avro.names import find_ambiguous, is_name
from ingest.avro.schema import (
    PHYSICALS,
    Array,
    Enum,
    Field,
    Fixed,
    MapOf,
    Notes,
    Nullable,
    Record,
    Scalar,
    Schema,
    Union,
)
from ingest.errors import SchemaError

MAX_DEPTH = 64
"""Levels of nesting that are parsed, through named types too.  Real tables have fewer than ten."""
MAX_TYPES = 100_000
"""Types in a schema with each name replaced by its definition: a name costs nothing in the text, and names of
names grow without bound.  The widest tables of any source have a tenth of it."""
LONGEST_PATH = 200
"""Characters of a path that an error shows."""
MAX_FIXED = 16 * 1024 * 1024
"""Bytes of a fixed.  A broker takes messages of 1 MB by default.  With a size of 0, an array of any length
would take no bytes."""
MAX_TEXT = 4 * 1024 * 1024
"""Characters of one schema's text.  A registry keeps its schemas in Kafka messages of 1 MB by default."""


def parse(text: str, references: Sequence[str] = (), *, where: str = "schema") -> Schema:
    """Parse a schema.  `references` are the texts that it names, each before the texts that use it.

    Raises `SchemaError` for invalid JSON or Avro, an unknown name, a type that contains itself (Spark has no
    such type), or a schema larger than any real table's.
    """
    parser = _Parser(where)
    try:
        for reference in references:
            parser.parse(_json(reference, where), "", "$")
        schema = parser.parse(_json(text, where), "", "$")
    except RecursionError:  # in a default, say
        raise SchemaError(where, "$", "is nested too deep") from None
    parser.check_extent(schema, "$")
    return schema


def _json(text: str, where: str) -> Any:
    if len(text) > MAX_TEXT:
        raise SchemaError(where, "$", f"is {len(text):,} characters long, the limit is {MAX_TEXT:,}")
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        if text.strip() in PHYSICALS:  # a registry may hold the bare word: "string"
            return text.strip()
        raise SchemaError(where, "$", f"is not JSON ({error})") from error


class _Parser:
    """Holds the names parsed so far.  `None` marks a name with an unfinished body."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.known: dict[str, Schema | None] = {}
        self.extents: dict[str, tuple[int, int]] = {}
        """The number of types in a record, and its number of levels, by its name."""

    def parse(self, node: Any, namespace: str, path: str, depth: int = 0) -> Schema:
        if depth > MAX_DEPTH:
            raise self.error(path, f"is nested more than {MAX_DEPTH} levels deep")
        match node:
            case str():
                return self.named(node, namespace, path)
            case list():
                return self.union(node, namespace, path, depth)
            case {"type": "record" | "error"}:
                return self.record(node, namespace, path, depth)
            case {"type": "enum", "symbols": list(symbols)}:
                name = self.open(node, namespace, path)
                return self.close(name, Enum(name, self.symbols(symbols, path), _notes(node)))
            case {"type": "fixed", "size": int(size)}:
                name = self.open(node, namespace, path)
                if not 1 <= size <= MAX_FIXED:
                    raise self.error(path, f"is a fixed of {size:,} bytes, allowed are 1 to {MAX_FIXED:,}")
                return self.close(name, Fixed(name, size, _notes(node)))
            case {"type": "array", "items": items}:
                return Array(self.parse(items, namespace, f"{path}[]", depth + 1), _notes(node))
            case {"type": "map", "values": values}:
                return MapOf(self.parse(values, namespace, f"{path}{{}}", depth + 1), _notes(node))
            case {"type": str(name)} if name in PHYSICALS:
                return Scalar(name, _notes(node))
            case {"type": inner} if not isinstance(inner, str) or inner not in _COMPLEX:
                return self.parse(inner, namespace, path, depth + 1)
            case _:
                raise self.error(path, f"is not an Avro type: {json.dumps(node)[:80]}")

    def named(self, name: str, namespace: str, path: str) -> Schema:
        if name in PHYSICALS:
            return Scalar(name)
        for full in (name,) if "." in name else (_full(name, namespace), name):
            if full in self.known:
                schema = self.known[full]
                if schema is None:
                    raise self.error(path, f"contains itself: {full}")
                return schema
        raise self.error(path, f"names the type '{name}', which is not defined")

    def union(self, node: list[Any], namespace: str, path: str, depth: int) -> Schema:
        branches = tuple(self.parse(branch, namespace, path, depth + 1) for branch in node)
        null = Scalar("null")
        match branches:
            case (first, other) if first == null:
                return Nullable(other, null_first=True)
            case (other, last) if last == null:
                return Nullable(other, null_first=False)
            case _:
                return Union(branches)

    def record(self, node: Mapping[str, Any], namespace: str, path: str, depth: int) -> Record:
        name = self.open(node, namespace, path)
        inner = name.rpartition(".")[0]
        fields = node.get("fields")
        if not isinstance(fields, list):
            raise self.error(path, "is a record without fields")
        parsed = tuple(self.field(field, inner, path, depth) for field in fields)
        self.check_names(parsed, path)
        record = Record(name, parsed, _notes(node))
        self.extents[name] = self.check_extent(record, path)
        self.known[name] = record
        return record

    def symbols(self, symbols: list[Any], path: str) -> tuple[str, ...]:
        """Check the symbols of an enum, as every Avro library does before it writes one."""
        for symbol in symbols:
            if not isinstance(symbol, str) or not is_name(symbol):
                raise self.error(path, f"has the symbol {str(symbol)[:80]!r}, which Avro does not allow")
        return tuple(symbols)

    def check_names(self, fields: Sequence[Field], path: str) -> None:
        """Refuse a record in which a name would mean two fields, or that no text can carry."""
        problem = find_ambiguous([field.name for field in fields])
        if problem:
            raise self.error(path, problem)

    def check_extent(self, schema: Schema, path: str) -> tuple[int, int]:
        """Count types and levels, and refuse more than any table has.

        Named records keep their first count.
        """
        types, levels = self.extent(schema)
        if types > MAX_TYPES:
            raise self.error(path, f"expands to {types:,} types, the limit is {MAX_TYPES:,}")
        if levels > MAX_DEPTH:
            raise self.error(path, f"is nested more than {MAX_DEPTH} levels deep")
        return types, levels

    def extent(self, schema: Schema) -> tuple[int, int]:
        match schema:
            case Record(name=name) if name in self.extents:
                return self.extents[name]
            case Record(fields=fields):
                inner = [self.extent(field.type) for field in fields]
            case Union(branches=branches):
                inner = [self.extent(branch) for branch in branches]
            case Array(items=of) | MapOf(values=of) | Nullable(of=of):
                inner = [self.extent(of)]
            case _:
                return 1, 0
        return 1 + sum(types for types, _ in inner), 1 + max((levels for _, levels in inner), default=0)

    def field(self, node: Any, namespace: str, path: str, depth: int) -> Field:
        match node:
            case {"name": str(name), "type": kind}:
                schema = self.parse(kind, namespace, f"{path}.{name}", depth + 1)
                default = json.dumps(node["default"]) if "default" in node else None
                aliases = tuple(map(str, node.get("aliases") or ()))
                return Field(name, schema, default, aliases, _tags(node.get("confluent:tags")))
            case _:
                raise self.error(path, f"has a field without name or type: {str(node)[:80]}")

    def open(self, node: Mapping[str, Any], namespace: str, path: str) -> str:
        name = node.get("name")
        if not isinstance(name, str) or not name:
            raise self.error(path, f"is a {node['type']} without a name")
        full = _full(name, node.get("namespace", namespace))
        if full in self.known:
            raise self.error(path, f"defines '{full}' a second time")
        self.known[full] = None
        return full

    def close(self, name: str, schema: Enum | Fixed) -> Schema:
        self.known[name] = schema
        return schema

    def error(self, path: str, problem: str) -> SchemaError:
        short = path if len(path) <= LONGEST_PATH else f"{path[:LONGEST_PATH]}…"
        return SchemaError(self.where, short, problem)


_COMPLEX = ("record", "error", "enum", "fixed", "array", "map")


def _full(name: str, namespace: str) -> str:
    return name if "." in name or not namespace else f"{namespace}.{name}"


def _notes(node: Mapping[str, Any]) -> Notes:
    parameters = node.get("connect.parameters")
    items = parameters.items() if isinstance(parameters, dict) else ()
    return Notes(
        connect_name=str(node.get("connect.name", "")),
        logical=str(node.get("logicalType", "")),
        precision=_int(node.get("precision")),
        scale=_int(node.get("scale")),
        parameters=tuple(sorted((str(key), str(value)) for key, value in items)),
    )


def _tags(value: Any) -> tuple[str, ...]:
    """Return the tags of a field: a list, or a single one."""
    return tuple(map(str, value)) if isinstance(value, list) else (value,) if isinstance(value, str) else ()


def _int(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
