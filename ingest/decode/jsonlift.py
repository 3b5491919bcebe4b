"""How each type of a reader is read from JSON, and converted to the value that Avro's decoder gives."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import attrs

from ingest.errors import SchemaError
from ingest.sql.names import folded
from ingest.sql.template import Sql, any_true, ident, join, literal, sql, struct, word
from ingest.typemap.rows import VALUE

AS_TEXT: Final = "source"
"""The field of an event in which scalar fields may be text instead of another type, or the reverse.

Debezium's documents show `snapshot` as a boolean and `event_serial_no` as text.
"""

_PRIMITIVES: Final = {
    "boolean": "boolean", "int": "int", "long": "bigint", "float": "float", "double": "double",
    "bytes": "binary", "string": "string",
}  # fmt: skip

_MOST_MILLIS: Final = (2**63 - 1) // 1000
# The values of the reader's logical types, or null if they cannot hold the physical value.  A local
# timestamp is cast in the run's session zone, UTC.
_LOGICALS: Final = {
    ("int", "date"): ("date", sql("date_from_unix_date({c})")),
    ("long", "local-timestamp-millis"): (
        "timestamp_ntz",
        sql(
            "cast(timestamp_millis(if({c} between -{most} and {most}, {c}, null)) as timestamp_ntz)",
            most=_MOST_MILLIS,
        ),
    ),
    ("long", "local-timestamp-micros"): (
        "timestamp_ntz",
        sql("cast(timestamp_micros({c}) as timestamp_ntz)"),
    ),
}


@attrs.frozen
class JsonConversion:
    """How to read and convert a value.

    `parsed` is the type to parse it as, and `distinct` the same type under names that differ in more than
    case.  `spark` is the type of its converted value, `sql`, which is null if the conversion fails.  `fault`,
    over the parsed `{c}` and the converted `{out}`, is true for a failed conversion and for other wrong
    values.  It is None if all values are right.
    """

    parsed: Sql
    distinct: Sql
    spark: Sql
    sql: Sql = VALUE
    fault: Sql | None = None

    def convert(self, value: Sql) -> Sql:
        """Return `value` converted."""
        return self.sql.of(c=value)

    def fails(self, value: Sql, converted: Sql) -> Sql | None:
        """Return a condition that is true if `value` is wrong, or None if it never is."""
        return self.fault.of(c=value, out=converted) if self.fault else None


Names = Mapping[str, Mapping[str, str]]
"""By the path of a record in the reader (`""`, `after`, …): reader fields by their names in JSON.

A listed record takes no other fields from JSON. A record that is not listed has the same names in both.
"""


@attrs.frozen
class Converter:
    """Makes conversions. `infinite` is true if the text has the word Infinity."""

    names: Names
    infinite: Sql

    def convert(self, node: Any, path: str, depth: int = 0) -> JsonConversion:
        """Return the conversion of a reader's node. `depth` counts the lambdas around it."""
        match node:
            case {"type": "record", "fields": fields}:
                return self._record(fields, path, depth)
            case {"type": "array", "items": items}:
                return _each(self.convert(items, f"{path}[]", depth + 1), word(f"e{depth}"), *_ARRAY)
            case {"type": "map", "values": values}:
                return _each(self.convert(values, f"{path}{{}}", depth + 1), word(f"e{depth}"), *_MAP)
            case ["null", other] | [other, "null"]:
                return self.convert(other, path, depth)
            case _:
                return self._scalar(node, path)

    def _scalar(self, node: Any, path: str) -> JsonConversion:
        match node:
            case str() if node in _PRIMITIVES:
                return self._primitive(node)
            case {"type": "bytes", "logicalType": "decimal", "precision": precision, "scale": scale}:
                decimal = sql("decimal({precision},{scale})", precision=precision, scale=scale)
                value = sql(
                    "try_cast(ingest_plain_decimal({scale}, {c}) as {type})", scale=scale, type=decimal
                )
                return _checked(word("binary"), decimal, value)
            case {"type": "enum", "symbols": symbols}:
                fault = sql("{c} not in ({symbols})", symbols=join(", ", map(literal, symbols)))
                return _same("string", fault)
            case {"type": "fixed", "size": size}:
                return _same("binary", sql("length({c}) != {size}", size=size))
            case {"type": physical, "logicalType": logical} if (physical, logical) in _LOGICALS:
                spark, value = _LOGICALS[physical, logical]
                return _checked(word(_PRIMITIVES[physical]), word(spark), value)
            case {"type": physical, **notes} if physical in _PRIMITIVES and "logicalType" not in notes:
                return self._scalar(physical, path)
            case _:
                raise SchemaError("reader", f"$.{path}", f"has no JSON form: {str(node)[:80]}")

    def _primitive(self, physical: str) -> JsonConversion:
        if physical not in ("float", "double"):
            return _same(_PRIMITIVES[physical])
        infinite = sql("abs({c}) = double('Infinity') and not {infinite}", infinite=self.infinite)
        return _same(_PRIMITIVES[physical], infinite)

    def _record(self, fields: Sequence[Mapping[str, Any]], path: str, depth: int) -> JsonConversion:
        """Convert a record: its fields are parsed by their JSON names, and renamed to the reader's."""
        conversions = {f["name"]: self._field(f["type"], path, f["name"], depth) for f in fields}
        json_names = self.names.get(path, {name: name for name in conversions})
        origins = {field: origin for origin, field in json_names.items() if field in conversions}
        distinct = _distinct(list(origins.values()))
        values = {field: VALUE.field(distinct[origin]) for field, origin in origins.items()}
        parts = [(origin, distinct[origin], conversions[field]) for field, origin in origins.items()]
        renamed = any(origins.get(field) != field or distinct[field] != field for field in conversions)
        plain = not renamed and all(part.sql == VALUE for part in conversions.values())
        return JsonConversion(
            _struct_type((origin, part.parsed) for origin, _, part in parts),
            _struct_type((name, part.distinct) for _, name, part in parts),
            _struct_type((field, part.spark) for field, part in conversions.items()),
            VALUE if plain else _converted_struct(conversions, values),
            _faults(conversions, values),
        )

    def _field(self, node: Any, path: str, name: str, depth: int) -> JsonConversion:
        conversion = self.convert(node, f"{path}.{name}" if path else name, depth)
        if path == AS_TEXT and conversion.spark == conversion.parsed and conversion.spark in _SCALARS:
            return _of_text(conversion)
        return conversion


_SCALARS: Final = frozenset(map(word, _PRIMITIVES.values()))
_TEXTS: Final = (word("string"), word("binary"))


def _distinct(origins: Sequence[str]) -> dict[str, str]:
    """Return the names to parse fields under: their own, or numbers if two differ only in letter case."""
    if len(set(map(folded, origins))) == len(origins):
        return {origin: origin for origin in origins}
    return {origin: f"f{index}" for index, origin in enumerate(origins)}


def _struct_type(fields: Iterable[tuple[str, Sql]]) -> Sql:
    typed = (sql("{name}: {type}", name=ident(name), type=field_type) for name, field_type in fields)
    return sql("struct<{fields}>", fields=join(", ", typed))


def _converted_struct(conversions: Mapping[str, JsonConversion], values: Mapping[str, Sql]) -> Sql:
    fields = struct(
        (
            name,
            part.convert(values[name]) if name in values else sql("cast(null as {type})", type=part.spark),
        )
        for name, part in conversions.items()
    )
    return sql("if({c} is null, null, {fields})", fields=fields)


def _faults(conversions: Mapping[str, JsonConversion], values: Mapping[str, Sql]) -> Sql | None:
    converted = sql("{out}")
    faults = [
        fault
        for name, value in values.items()
        if (fault := conversions[name].fails(value, converted.field(name)))
    ]
    return any_true(faults) if faults else None


def _same(spark: str, fault: Sql | None = None) -> JsonConversion:
    return JsonConversion(word(spark), word(spark), word(spark), fault=fault)


def _checked(parsed: Sql, spark: Sql, value: Sql) -> JsonConversion:
    return JsonConversion(parsed, parsed, spark, value, sql("{c} is not null and {out} is null"))


def _of_text(conversion: JsonConversion) -> JsonConversion:
    if conversion.spark in _TEXTS:
        return conversion
    value = sql("try_cast({c} as {type})", type=conversion.spark)
    return _checked(word("string"), conversion.spark, value)


def _each(part: JsonConversion, name: Sql, kind: Sql, transformed: Sql, any_fault: Sql) -> JsonConversion:
    """Return the conversion of a collection, by the conversion of a `part` that a lambda calls `name`."""
    converted = part.convert(name)
    fault = part.fails(name, converted)
    return JsonConversion(
        kind.of(part=part.parsed),
        kind.of(part=part.distinct),
        kind.of(part=part.spark),
        VALUE if part.sql == VALUE else transformed.of(name=name, part=converted),
        fault and any_fault.of(name=name, fault=fault),
    )


_ARRAY: Final = (
    sql("array<{part}>"),
    sql("transform({c}, {name} -> {part})"),
    sql("exists({c}, {name} -> coalesce({fault}, false))"),
)
_MAP: Final = (
    sql("map<string, {part}>"),
    sql("transform_values({c}, (k, {name}) -> {part})"),
    sql("exists(map_values({c}), {name} -> coalesce({fault}, false))"),
)
