"""The differences of two versions, by kind."""

from typing import Any

import pytest

from ingest.compile.diff import SchemaChange, differences, growth
from ingest.sql.types import parse_ddl
from ingest.tables import Kind
from ingest.tables.evolution import RULES
from ingest.testing import decimal, nullable, semantic, time, timestamp
from ingest.testing import enum as debezium_enum
from tests.compile.sqlserver import ID, VALUE_ID, compiled

OLD, NEW = VALUE_ID, VALUE_ID + 1


def record(name: str, **fields: Any) -> Any:
    """Make a nested record."""
    return {"type": "record", "name": name, "fields": [{"name": n, "type": k} for n, k in fields.items()]}


def enum(*symbols: str) -> Any:
    """Make an Avro enum."""
    return {"type": "enum", "name": "E", "symbols": list(symbols)}


CASES: dict[str, tuple[Any, Any, list[tuple[Kind, str, str, str]]]] = {
    "added": (None, "string", [("column-added", "x", "string", "")]),
    "dropped": ("string", None, [("column-dropped", "x", "", "string")]),
    "int to long": ("int", "long", [("column-widened", "x", "bigint", "int")]),
    "float to double": ("float", "double", [("column-widened", "x", "double", "float")]),
    "int to decimal": ("int", decimal(12, 2), [("column-widened", "x", "decimal(12,2)", "int")]),
    "long to int": ("long", "int", [("column-narrowed", "x", "int", "bigint")]),
    "int to string": ("int", "string", [("column-changed", "x", "string", "int")]),
    "string to int": ("string", "int", [("column-changed", "x", "int", "string")]),
    "wall clock to instant": (
        timestamp("ms"),
        semantic("string", "io.debezium.time.ZonedTimestamp"),
        [("column-changed", "x", "timestamp", "timestamp_ntz")],
    ),
    "more digits": (
        decimal(9, 2),
        decimal(19, 2),
        [("decimal-widened", "x", "decimal(19,2)", "decimal(9,2)")],
    ),
    "a finer scale": (
        decimal(9, 2),
        decimal(11, 4),
        [("decimal-widened", "x", "decimal(11,4)", "decimal(9,2)")],
    ),
    "fewer digits": (
        decimal(19, 2),
        decimal(9, 2),
        [("decimal-narrowed", "x", "decimal(9,2)", "decimal(19,2)")],
    ),
    "a scale beyond 38 digits": (
        decimal(38, 0),
        decimal(38, 9),
        [("column-changed", "x", "decimal(38,9)", "decimal(38,0)")],
    ),
    "ms to us": (
        timestamp("ms"),
        timestamp("us"),
        [("time-precision-changed", "x", "MicroTimestamp", "Timestamp")],
    ),
    "ns to us": (
        timestamp("ns"),
        timestamp("us"),
        [("time-precision-changed", "x", "MicroTimestamp", "NanoTimestamp")],
    ),
    "a time of day": (
        time("ms"),
        time("ns"),
        [("time-precision-changed", "x", "NanoTime", "Time")],
    ),
    "symbols": (enum("A", "B"), enum("A", "B", "C"), [("enum-changed", "x", "A,B,C", "A,B")]),
    "Debezium's symbols": (
        debezium_enum("a", "b"),
        debezium_enum("a", "b", "c"),
        [("enum-changed", "x", "a,b,c", "a,b")],
    ),
    "an enum to text": (enum("A"), "string", [("enum-changed", "x", "text", "A")]),
    "text to JSON": (
        "string",
        semantic("string", "io.debezium.data.Json"),
        [("meaning-changed", "x", "Json", "none")],
    ),
    "required to nullable": ("int", nullable("int"), [("nullability-changed", "x", "nullable", "required")]),
    "nullable to required": (nullable("int"), "int", [("nullability-changed", "x", "required", "nullable")]),
    "a nested field added": (
        record("R", a="int"),
        record("R", a="int", b="string"),
        [("field-added", "x.b", "string", "")],
    ),
    "a nested field dropped": (
        record("R", a="int", b="string"),
        record("R", a="int"),
        [("field-dropped", "x.b", "", "string")],
    ),
    "a field widened in an array of records": (
        {"type": "array", "items": record("R", a="int")},
        {"type": "array", "items": record("R", a="long")},
        [("column-widened", "x[].a", "bigint", "int")],
    ),
    "a field changed in a map of records": (
        {"type": "map", "values": record("R", a="int")},
        {"type": "map", "values": record("R", a="string")},
        [("column-changed", "x{}.a", "string", "int")],
    ),
    "the items of an array": (
        {"type": "array", "items": "int"},
        {"type": "array", "items": nullable("int")},
        [("nullability-changed", "x[]", "nullable", "required")],
    ),
    "nothing": (nullable(decimal(9, 2)), nullable(decimal(9, 2)), []),
    "the other branch first": (["null", "int"], ["int", "null"], []),
}


@pytest.mark.parametrize(("old", "new", "expected"), CASES.values(), ids=list(CASES))
def test_a_difference_has_its_kind_its_place_and_both_types(
    old: Any, new: Any, expected: list[tuple[Kind, str, str, str]]
) -> None:
    """One column of two versions, and nothing else is named."""
    versions = [{**ID, **({"x": kind} if kind else {})} for kind in (old, new)]
    result = differences(compiled(versions).value, OLD, NEW)
    assert result == tuple(SchemaChange(*item) for item in expected)


def test_a_default_that_changes_is_a_difference() -> None:
    """None and null are the same default: nothing."""

    def found(*kinds: Any) -> list[tuple[str, str]]:
        result = compiled([{**ID, "x": kind} for kind in kinds])
        return [(difference.was, difference.type) for difference in differences(result.value, OLD, NEW)]

    def default(value: int) -> Any:
        return [{"type": "int", "connect.default": value}, "null"]

    assert found(nullable("int"), ["int", "null"]) == []
    assert found(nullable("int"), default(5)) == [("none", "5")]
    assert found(default(5), default(6)) == [("5", "6")]


def test_every_kind_that_two_versions_can_show_is_in_the_cases() -> None:
    """A kind that no case shows is a promise; four need more than two types to show."""
    shown = {change[0] for _, _, changes in CASES.values() for change in changes}
    assert set(RULES) - shown == {"column-renamed", "default-changed", "key-changed", "envelope-changed"}


def test_the_growth_of_a_table_is_shown_down_to_the_field() -> None:
    """A struct in an array that gets a field, and a wider one."""
    was, wider = (
        parse_ddl("array<struct<a:int,b:string>>"),
        parse_ddl("array<struct<a:bigint,b:string,c:date>>"),
    )
    assert list(growth("x", was, wider)) == [
        SchemaChange("column-widened", "x[].a", "bigint", "int"),
        SchemaChange("field-added", "x[].c", "date"),
    ]
