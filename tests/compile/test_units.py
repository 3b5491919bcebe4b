"""Values of two units never share a column: every pair of types, against a statement of its own."""

from itertools import product
from typing import Any

import attrs
import pytest

from ingest.compile.evolve import evolve
from ingest.errors import SchemaError
from ingest.names import SchemaId
from ingest.sql.types import parse_ddl
from tests.compile.sqlserver import ID, VALUE_ID, compiled, envelope, table

FIRST, SECOND = VALUE_ID, SchemaId(VALUE_ID + 1)
TIME, KAFKA, DATA = "io.debezium.time.", "org.apache.kafka.connect.data.", "io.debezium.data."

# What a stored value says, written down after the connectors' pages; `{time}` and `{nanos}` are policies.
TEXT, DAY_TEXT, DAY_MICROS = "text", "HH:mm:ss of a day", "microseconds of a day"
STAMP, STAMP_TEXT = "wall clock", "wall clock as ISO text"
UNITS: dict[tuple[str, str], dict[str, str] | str] = {
    ("", "int"): "a number",
    ("", "long"): "a number",
    ("", "double"): "a number",
    ("", "float"): "a number",
    ("", "string"): TEXT,
    ("", "bytes"): "bytes",
    ("", "boolean"): "truth",
    **{
        (name, physical): {"string": DAY_TEXT, "micros": DAY_MICROS}
        for name, physical in (
            (f"{TIME}Time", "int"), (f"{KAFKA}Time", "int"),
            (f"{TIME}MicroTime", "long"), (f"{TIME}NanoTime", "long"),
        )
    },
    (f"{TIME}IsoTime", "string"): DAY_TEXT,
    (f"{TIME}ZonedTime", "string"): "HH:mm:ss of a day, and an offset",
    (f"{TIME}Date", "int"): "a date",
    (f"{TIME}IsoDate", "string"): "a date",
    (f"{TIME}Timestamp", "long"): STAMP,
    (f"{KAFKA}Timestamp", "long"): STAMP,
    (f"{TIME}MicroTimestamp", "long"): STAMP,
    (f"{TIME}NanoTimestamp", "long"): {
        "timestamp": STAMP, "bigint": "nanoseconds since 1970", "string": STAMP_TEXT,
    },
    (f"{TIME}IsoTimestamp", "string"): {"timestamp": STAMP, "bigint": STAMP, "string": STAMP_TEXT},
    (f"{TIME}ZonedTimestamp", "string"): "an instant",
    (f"{TIME}Year", "int"): "a number",
    (f"{TIME}Interval", "string"): "a duration as ISO text",
    (f"{TIME}MicroDuration", "long"): "microseconds that something takes",
    (f"{TIME}NanoDuration", "long"): "nanoseconds that something takes",
    (f"{DATA}Json", "string"): TEXT,
    (f"{DATA}Xml", "string"): TEXT,
    (f"{DATA}Uuid", "string"): TEXT,
    (f"{DATA}Enum", "string"): TEXT,
    (f"{DATA}Bits", "bytes"): "bits",
    (f"{DATA}VariableScaleDecimal", "record"): "a number as text",
}  # fmt: skip
POLICIES = [
    {"time": time, "nanos": nanos}
    for time, nanos in product(("string", "micros"), ("timestamp", "bigint", "string"))
]


def unit(row: tuple[str, str], policies: dict[str, str]) -> str:
    """Return the text of a stored value of a type under policies."""
    units = UNITS[row]
    if isinstance(units, str):
        return units
    return units[policies["time"]] if "micros" in units else units[policies["nanos"]]


def schema(row: tuple[str, str], number: int) -> Any:
    """Make the Avro type."""
    name, physical = row
    if physical == "record":
        fields = [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}]
        return {"type": "record", "name": f"V{number}", "fields": fields, "connect.name": name}
    return {"type": physical, "connect.name": name} if name else physical


def shapes(kind: Any) -> dict[str, Any]:
    """Put a type into each container."""
    nested = {"type": "record", "name": "Nested", "fields": [{"name": "f", "type": kind}]}
    return {
        "plain": kind,
        "array": {"type": "array", "items": kind},
        "map": {"type": "map", "values": kind},
        "struct": nested,
    }


CASES = [("plain", policies) for policies in POLICIES]
CASES += [(shape, POLICIES[index]) for index, shape in ((1, "array"), (3, "map"), (4, "struct"))]


@pytest.mark.parametrize(("shape", "policies"), CASES)
def test_two_units_never_share_a_column(shape: str, policies: dict[str, str]) -> None:
    """Where one column takes both versions, both say the same; else the run stops."""
    mixed, stopped = [], 0
    of = table(**policies)
    for old, new in product(UNITS, UNITS):
        versions = [{**ID, "x": shapes(schema(row, 0))[shape]} for row in (old, new)]
        result = compiled(versions, of=of)
        first = evolve(result, [FIRST], None)
        present = {"id": parse_ddl("int"), **{column.name: column.spark for column in first.columns}}
        for outcome in (evolve(result, [FIRST, SECOND], None), evolve(result, [SECOND], present, [FIRST])):
            stopped += bool(outcome.failing)
            if not outcome.failing and unit(old, policies) != unit(new, policies):
                mixed.append((old, new))
    assert mixed == []
    assert stopped > 500


def test_another_unit_gets_a_column_of_its_own_by_policy() -> None:
    """And a third unit another one, however they arrive."""
    names = [f"{TIME}MicroDuration", f"{TIME}NanoDuration", ""]
    versions = [{**ID, "x": schema((name, "long"), 0)} for name in names]
    of = attrs.evolve(table(), evolution={"column-changed": "evolve"})
    result = compiled(versions, of=of)
    ids = [SchemaId(VALUE_ID + number) for number in range(3)]
    outcome = evolve(result, ids, None)
    assert [column.name for column in outcome.columns] == ["x", "x_v2", "x_v3"]
    present = {"id": parse_ddl("int"), **{column.name: column.spark for column in outcome.columns}}
    for schema_id, name in zip(reversed(ids), ("x_v3", "x_v2", "x"), strict=True):
        later = evolve(result, [schema_id], present, ids)
        assert [column.name for column in later.columns] == [name]
        assert "bigint (" in outcome.changes[0].type


def test_a_key_of_two_units_stops() -> None:
    """Its versions share one column, and two keys could become one."""
    versions = [{"id": schema((f"{TIME}{name}Duration", "long"), 0)} for name in ("Micro", "Nano")]
    with pytest.raises(SchemaError, match="two units"):
        compiled(versions, of=table("id"), keys=None)
    assert envelope(ID)
