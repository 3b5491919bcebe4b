"""The JSON of a schema's wire form."""

import zlib
from collections.abc import Mapping
from typing import Any, assert_never

from ingest.avro.names import is_name
from ingest.avro.schema import Array, Enum, Fixed, MapOf, Nullable, Record, Scalar, Schema, Union


def render(schema: Schema, rename: Mapping[str, Mapping[str, str]] | None = None) -> Any:
    """Return the JSON of the wire form: names, shapes and branch orders, without notes and defaults.

    Names are flattened (see `wire_name`), so that no namespace is inherited.  `rename` gives fields of named
    records other names (`{record: {field: other}}`).  Names are not on the wire, so a decoder accepts any.
    """
    return _render(schema, rename or {}, set())


def _render(schema: Schema, rename: Mapping[str, Mapping[str, str]], seen: set[str]) -> Any:
    match schema:
        case Scalar(physical=physical):
            return physical
        case Array(items=items):
            return {"type": "array", "items": _render(items, rename, seen)}
        case MapOf(values=values):
            return {"type": "map", "values": _render(values, rename, seen)}
        case Nullable(of=of, null_first=null_first):
            other = _render(of, rename, seen)
            return ["null", other] if null_first else [other, "null"]
        case Union(branches=branches):
            return [_render(branch, rename, seen) for branch in branches]
        case Enum() | Fixed() | Record() if wire_name(schema) in seen:
            return wire_name(schema)
        case Enum(symbols=symbols):
            seen.add(wire_name(schema))
            return {"type": "enum", "name": wire_name(schema), "symbols": list(symbols)}
        case Fixed(size=size):
            seen.add(wire_name(schema))
            return {"type": "fixed", "name": wire_name(schema), "size": size}
        case Record(name=name, fields=fields):
            seen.add(wire_name(schema))
            new_names = rename.get(name, {})
            rendered = [
                {"name": new_names.get(f.name, _legal(f.name, index)), "type": _render(f.type, rename, seen)}
                for index, f in enumerate(fields)
            ]
            return {"type": "record", "name": wire_name(schema), "fields": rendered}
        case _:
            assert_never(schema)


def _legal(name: str, index: int) -> str:
    """Return a field's name.  A name that decoders refuse, and no reader asks for, becomes a numbered one."""
    return name if is_name(name) else f"_{index}_is_not_a_name"


def wire_name(schema: Enum | Fixed | Record) -> str:
    """Return a name without a namespace, and a different one for each version of an enum or a fixed.

    A decoder compares the names of enums and fixeds, so that one reader can hold two versions only under two
    names.
    """
    flat = schema.name.replace(".", "__")
    if not is_name(flat):
        flat = f"x_{zlib.crc32(flat.encode(errors='backslashreplace')):08x}"
    match schema:
        case Enum(symbols=symbols):
            return f"{flat}_{zlib.crc32(' '.join(symbols).encode()):08x}"
        case Fixed(size=size):
            return f"{flat}_{size}"
        case Record():
            return flat
