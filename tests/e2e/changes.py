"""Changes of a column's schema, as data: both types, a value of each, and the expected table content."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

import attrs

from ingest.tables import Kind
from ingest.testing import decimal, enum, nullable, time, timestamp
from ingest.testing.columns import Json

NOON: Final = datetime(2023, 11, 14, 22, 13, 20)  # noqa: DTZ001  a wall clock
NOON_S: Final = 1_700_000_000

Reported = tuple[Kind, str]
"""A change that a run reports: its kind, and the column's path."""


@attrs.frozen
class Case:
    """One column through two versions; a version with the type None lacks the column.

    `old`, `new`: the value that each version writes; `stored_old`, `stored_new`: the same values in the
    table, in its type `spark`.  `reported`: the changes that the run reports when it first reads the new
    version.  `new_name`: the column's name in the new version, declared by an alias, or in the table file
    by `renamed_by`.  `extra_column`: a column that the table adds for the new version's values.
    """

    old_type: Json
    new_type: Json
    old: Any
    new: Any
    spark: str
    reported: tuple[Reported, ...]
    stored_old: Any = attrs.field()
    stored_new: Any = attrs.field()
    new_name: str = ""
    renamed_by: str = ""
    extra_column: str = ""

    @stored_old.default
    def _as_old(self) -> Any:
        return self.old

    @stored_new.default
    def _as_new(self) -> Any:
        return self.new


def record(name: str, **fields: Json) -> Json:
    """Return a record of optional fields without a semantic name."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": n, "type": nullable(kind), "default": None} for n, kind in fields.items()],
    }


def array(items: Json) -> Json:
    """Return an array type."""
    return {"type": "array", "items": items}


def mapping(values: Json) -> Json:
    """Return a map type."""
    return {"type": "map", "values": values}


_MAP: Final = mapping("int")
TENTH: Final = 0.10000000149011612
"""The float 0.1 as a double."""
DEFAULTED: Final = [{"type": "int", "connect.default": 5}, "null"]

IN_PLACE: Final[Mapping[str, Case]] = {
    "added_first": Case(None, nullable("string"), None, "n", "string", (("column-added", "added_first"),)),
    "int_long": Case(
        nullable("int"), nullable("long"), 7, 1 << 40, "bigint", (("column-widened", "int_long"),)
    ),
    "int_double": Case(
        nullable("int"), nullable("double"), 7, 0.5, "double", (("column-widened", "int_double"),)
    ),
    "added_between": Case(None, nullable("int"), None, 3, "int", (("column-added", "added_between"),)),
    "more_digits": Case(
        nullable(decimal(9, 2)), nullable(decimal(19, 2)), Decimal("1234567.89"),
        Decimal("12345678901234567.89"), "decimal(19,2)", (("decimal-widened", "more_digits"),),
    ),
    "finer": Case(
        nullable(decimal(10, 2)), nullable(decimal(20, 4)), Decimal("12345678.90"),
        Decimal("1234567890123456.7891"), "decimal(20,4)", (("decimal-widened", "finer"),),
    ),
    "fewer_digits": Case(
        nullable(decimal(19, 2)), nullable(decimal(9, 2)), Decimal("12345678901234567.89"), Decimal("1.25"),
        "decimal(19,2)", (("decimal-narrowed", "fewer_digits"),),
    ),
    "long_int": Case(
        nullable("long"), nullable("int"), 1 << 40, 7, "bigint", (("column-narrowed", "long_int"),)
    ),
    "dropped": Case(nullable("string"), None, "o", None, "string", (("column-dropped", "dropped"),)),
    "required": Case(nullable("int"), "int", 1, 2, "int", (("nullability-changed", "required"),)),
    "optional": Case("int", nullable("int"), 1, 2, "int", (("nullability-changed", "optional"),)),
    "defaulted": Case(nullable("int"), DEFAULTED, 1, 2, "int", (("default-changed", "defaulted"),)),
    "symbols": Case(enum("a", "b"), enum("a", "b", "c"), "a", "c", "string", (("enum-changed", "symbols"),)),
    "avro_symbols": Case(
        {"type": "enum", "name": "Mood", "symbols": ["GLAD", "SAD"]}, nullable("string"), "SAD", "blue",
        "string", (("nullability-changed", "avro_symbols"), ("enum-changed", "avro_symbols")),
    ),
    "millis_nanos": Case(
        nullable(timestamp("ms")), nullable(timestamp("ns")), NOON_S * 1000 + 7, NOON_S * 10**9 + 1_234_500,
        "timestamp_ntz", (("time-precision-changed", "millis_nanos"),),
        NOON.replace(microsecond=7_000), NOON.replace(microsecond=1_234),
    ),
    "nanos_micros": Case(
        nullable(timestamp("ns")), nullable(timestamp("us")), NOON_S * 10**9 + 5_000, NOON_S * 10**6 + 9,
        "timestamp_ntz", (("time-precision-changed", "nanos_micros"),),
        NOON.replace(microsecond=5), NOON.replace(microsecond=9),
    ),
    "clock": Case(
        nullable(time("ms")), nullable(time("us")), 1_500, 2_000_001, "string",
        (("time-precision-changed", "clock"),), "00:00:01.500", "00:00:02.000001",
    ),
    "meaning": Case(
        nullable("string"), nullable({"type": "string", "connect.name": "io.debezium.data.Json"}),
        "{}", "[]", "string", (("meaning-changed", "meaning"),),
    ),
    "field_last": Case(
        nullable(record("L1", a="int")), nullable(record("L1", a="int", b="string")), {"a": 1},
        {"a": 2, "b": "n"}, "struct<a:int,b:string>", (("field-added", "field_last.b"),), {"a": 1, "b": None},
    ),
    "field_first": Case(
        nullable(record("L2", a="int")), nullable(record("L2", z="string", a="int")), {"a": 1},
        {"z": "n", "a": 2}, "struct<a:int,z:string>", (("field-added", "field_first.z"),),
        {"a": 1, "z": None},
    ),
    "field_gone": Case(
        nullable(record("L3", a="int", b="int")), nullable(record("L3", a="int")), {"a": 1, "b": 2}, {"a": 3},
        "struct<a:int,b:int>", (("field-dropped", "field_gone.b"),), stored_new={"a": 3, "b": None},
    ),
    "aliased": Case(
        nullable("int"), nullable("long"), 7, 1 << 40, "bigint",
        (("column-renamed", "aliased"), ("column-widened", "aliased")), new_name="alias",
    ),
    "declared": Case(
        nullable("string"), nullable("string"), "o", "n", "string",
        (("column-renamed", "declared"),), new_name="declaration",
        renamed_by='[columns.declaration]\nrename = "declared"',
    ),
    "clash": Case(
        nullable("int"), nullable("string"), 7, "seven", "int", (("column-changed", "clash"),),
        stored_new=None, extra_column="clash_v2",
    ),
    "added_last": Case(
        None, nullable(array(nullable("string"))), None, ["n"], "array<string>",
        (("column-added", "added_last"),),
    ),
}  # fmt: skip
"""Changes that the table follows without rewriting stored files."""

REWRITTEN: Final[Mapping[str, Case]] = {
    "int_decimal": Case(
        nullable("int"), nullable(decimal(12, 2)), -2_147_483_648, Decimal("1.25"), "decimal(12,2)",
        (("column-widened", "int_decimal"),),
    ),
    "long_decimal": Case(
        nullable("long"), nullable(decimal(20, 0)), (1 << 63) - 1, Decimal(12345678901234567890),
        "decimal(20,0)", (("column-widened", "long_decimal"),),
    ),
    "float_double": Case(
        nullable("float"), nullable("double"), 0.1, 0.1, "double", (("column-widened", "float_double"),),
        stored_old=TENTH,
    ),
    "field_decimal": Case(
        nullable(array(record("D1", a="int", b="string"))),
        nullable(array(record("D1", a=decimal(11, 1), b="string"))),
        [{"a": 1, "b": "o"}], [{"a": Decimal("0.5"), "b": "n"}], "array<struct<a:decimal(11,1),b:string>>",
        (("column-widened", "field_decimal[].a"),),
    ),
    "field_wider": Case(
        nullable(record("L4", a="int")), nullable(record("L4", a="long")), {"a": 1}, {"a": 1 << 40},
        "struct<a:bigint>", (("column-widened", "field_wider.a"),),
    ),
    "in_array": Case(
        nullable(array(record("L5", a="int"))), nullable(array(record("L5", a="long", b="string"))),
        [{"a": 1}], [{"a": 1 << 40, "b": "n"}], "array<struct<a:bigint,b:string>>",
        (("column-widened", "in_array[].a"), ("field-added", "in_array[].b")), [{"a": 1, "b": None}],
    ),
    "in_map": Case(
        nullable(mapping(record("L6", a="float"))), nullable(mapping(record("L6", a="double", b="int"))),
        {"k": {"a": 0.1}}, {"k": {"a": 0.1, "b": 2}}, "map<string,struct<a:double,b:int>>",
        (("column-widened", "in_map{}.a"), ("field-added", "in_map{}.b")), {"k": {"a": TENTH, "b": None}},
    ),
    "items": Case(
        nullable(array(nullable("int"))), nullable(array(nullable("long"))), [1, None], [1 << 40],
        "array<bigint>", (("column-widened", "items[]"),),
    ),
    "beside": Case(nullable("string"), None, "o", None, "string", (("column-dropped", "beside"),)),
    "same": Case(nullable(_MAP), nullable(_MAP), {"k": 1}, {"k": 2}, "map<string,int>", ()),
}  # fmt: skip
"""Changes that rewrite the table: integers become decimals, floats doubles, values inside others wider."""
