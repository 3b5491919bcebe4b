"""How each type of a reader is read from JSON, and lifted to what Avro's decoder makes of it."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ingest.errors import SchemaError
from ingest.typemap.sparktype import literal, quote

AS_TEXT: Final = "source"
"""The field of an event whose scalar fields may be text where they should not be, and the other way round.

Debezium's documents show `snapshot` as a boolean and `event_serial_no` as text.
"""

_PRIMITIVES: Final = {
    "boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double",
    "bytes": "binary", "string": "string",
}  # fmt: skip

_MOST_MILLIS: Final = (2**63 - 1) // 1000
_NTZ: Final = "cast({} as timestamp_ntz)"
_MILLIS: Final = f"if({{c}} between -{_MOST_MILLIS} and {_MOST_MILLIS}, {{c}}, null)"
# What a logical type of the reader makes of its physical value; null where it cannot hold it.  A local
# timestamp is cast in the run's session zone, UTC.
_LOGICALS: Final = {
    ("int", "date"): ("date", "date_from_unix_date({c})"),
    ("long", "local-timestamp-millis"): ("timestamp_ntz", _NTZ.format(f"timestamp_millis({_MILLIS})")),
    ("long", "local-timestamp-micros"): ("timestamp_ntz", _NTZ.format("timestamp_micros({c})")),
}


@attrs.frozen
class JsonConversion:
    """How a value is read and lifted.

    `parsed` is the type to parse it as, `held` the same type under names that differ in more than case,
    `spark` the type that it becomes by `sql`, which is null where it cannot; `fault`, over the parsed `{c}`
    and the lifted `{out}`, is true there and for other values that are wrong.
    """

    parsed: str
    held: str
    spark: str
    sql: str = "{c}"
    fault: str = ""

    def lift(self, value: str) -> str:
        """Return SQL that lifts `value`."""
        return self.sql.replace("{c}", value)

    def fails(self, value: str, lifted: str) -> str:
        """Return SQL that is true where `value` is wrong; empty where it never is."""
        return self.fault.replace("{c}", value).replace("{out}", lifted)


Names = Mapping[str, Mapping[str, str]]
"""By the path of a record in the reader (`""`, `after`, …): reader fields by their names in JSON.

A record that is listed takes nothing else from JSON; one that is not listed has the same names on both sides.
"""


@attrs.frozen
class Lifter:
    """Makes lifts; `infinite` is SQL that tells whether the text says Infinity."""

    names: Names
    infinite: str

    def lift(self, node: Any, path: str, depth: int = 0) -> JsonConversion:
        """Return the lift of a reader's node; `depth` counts the lambdas around it."""
        match node:
            case {"type": "record", "fields": fields}:
                return self._record(fields, path, depth)
            case {"type": "array", "items": items}:
                return _array(self.lift(items, f"{path}[]", depth + 1), f"e{depth}")
            case {"type": "map", "values": values}:
                return _map(self.lift(values, f"{path}{{}}", depth + 1), f"e{depth}")
            case ["null", other] | [other, "null"]:
                return self.lift(other, path, depth)
            case _:
                return self._scalar(node, path)

    def _scalar(self, node: Any, path: str) -> JsonConversion:
        match node:
            case str() if node in _PRIMITIVES:
                kind = _PRIMITIVES[node]
                fault = f"abs({{c}}) = double('Infinity') and not {self.infinite}"
                return JsonConversion(kind, kind, kind, fault=fault if node in ("float", "double") else "")
            case {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}:
                kind = f"decimal({precision},{scale})"
                return _checked("binary", kind, f"try_cast(ingest_plain_decimal({scale}, {{c}}) as {kind})")
            case {"type": "enum", "symbols": symbols}:
                known = ", ".join(map(literal, symbols))
                return JsonConversion("string", "string", "string", fault=f"{{c}} not in ({known})")
            case {"type": "fixed", "size": size}:
                return JsonConversion("binary", "binary", "binary", fault=f"length({{c}}) != {size}")
            case {"type": physical, "logicalType": logical} if (physical, logical) in _LOGICALS:
                return _checked(_PRIMITIVES[physical], *_LOGICALS[physical, logical])
            case {"type": physical, **notes} if physical in _PRIMITIVES and "logicalType" not in notes:
                return self._scalar(physical, path)
            case _:
                raise SchemaError("reader", f"$.{path}", f"has no JSON form: {str(node)[:80]}")

    def _record(self, fields: Sequence[Mapping[str, Any]], path: str, depth: int) -> JsonConversion:
        kinds = {field["name"]: self._field(field["type"], path, field["name"], depth) for field in fields}
        given = self.names.get(path, {name: name for name in kinds})
        origins = {field: origin for origin, field in given.items() if field in kinds}
        held = _held(list(origins.values()))
        places = {field: f"{{c}}.{quote(held[origin])}" for field, origin in origins.items()}
        parts = [(origins[field], held[origins[field]], kinds[field]) for field in origins]
        plain = all(kind.sql == "{c}" for kind in kinds.values()) and _same(kinds, held, origins)
        return JsonConversion(
            f"struct<{', '.join(f'{_name(origin)}: {kind.parsed}' for origin, _, kind in parts)}>",
            f"struct<{', '.join(f'{_name(name)}: {kind.held}' for _, name, kind in parts)}>",
            f"struct<{', '.join(f'{_name(field)}: {kind.spark}' for field, kind in kinds.items())}>",
            "{c}" if plain else _struct(kinds, places),
            _faults(kinds, places),
        )

    def _field(self, node: Any, path: str, name: str, depth: int) -> JsonConversion:
        kind = self.lift(node, f"{path}.{name}" if path else name, depth)
        if path == AS_TEXT and kind.spark == kind.parsed and kind.spark in _PRIMITIVES.values():
            return _of_text(kind)
        return kind


def _same(kinds: Mapping[str, JsonConversion], held: Mapping[str, str], origins: Mapping[str, str]) -> bool:
    """Tell whether the parsed struct is the lifted one: the same names, and all of them."""
    return all(field in origins and held[origins[field]] == field for field in kinds)


def _held(origins: Sequence[str]) -> dict[str, str]:
    """Return the names to hold fields under: their own, or numbers if two differ in case alone."""
    if len({origin.lower() for origin in origins}) == len(origins):
        return {origin: origin for origin in origins}
    return {origin: f"f{index}" for index, origin in enumerate(origins)}


def _struct(kinds: Mapping[str, JsonConversion], places: Mapping[str, str]) -> str:
    parts = [
        f"{literal(field)}, {kind.lift(places[field]) if field in places else f'cast(null as {kind.spark})'}"
        for field, kind in kinds.items()
    ]
    return f"if({{c}} is null, null, named_struct({', '.join(parts)}))"


def _faults(kinds: Mapping[str, JsonConversion], places: Mapping[str, str]) -> str:
    """Return a sum instead of `or`: under `or`, Spark would make again what it has made elsewhere."""
    found = [
        f"int(coalesce({kinds[field].fails(place, f'{{out}}.{quote(field)}')}, false))"
        for field, place in places.items()
        if kinds[field].fault
    ]
    return f"({' + '.join(found)}) > 0" if found else ""


def _checked(parsed: str, spark: str, sql: str) -> JsonConversion:
    return JsonConversion(parsed, parsed, spark, sql, "{c} is not null and {out} is null")


def _of_text(kind: JsonConversion) -> JsonConversion:
    if kind.spark in ("string", "binary"):
        return kind
    return _checked("string", kind.spark, f"try_cast({{c}} as {kind.spark})")


def _array(item: JsonConversion, name: str) -> JsonConversion:
    fault = item.fails(name, item.lift(name))
    return JsonConversion(
        f"array<{item.parsed}>",
        f"array<{item.held}>",
        f"array<{item.spark}>",
        "{c}" if item.sql == "{c}" else f"transform({{c}}, {name} -> {item.lift(name)})",
        fault and f"exists({{c}}, {name} -> coalesce({fault}, false))",
    )


def _map(value: JsonConversion, name: str) -> JsonConversion:
    fault = value.fails(name, value.lift(name))
    return JsonConversion(
        f"map<string, {value.parsed}>",
        f"map<string, {value.held}>",
        f"map<string, {value.spark}>",
        "{c}" if value.sql == "{c}" else f"transform_values({{c}}, (k, {name}) -> {value.lift(name)})",
        fault and f"exists(map_values({{c}}), {name} -> coalesce({fault}, false))",
    )


def _name(name: str) -> str:
    return f"`{name.replace('`', '``')}`"
