"""Extreme values of connectors other than SQL Server: the SQL of each type on Spark, value by value."""

import json
import uuid
from datetime import timedelta
from hashlib import md5
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest import avro
from ingest.dialects import DIALECTS, Dialect
from ingest.sql.template import sql
from ingest.tables import Column, Types
from ingest.testing import decimal, nullable, semantic, unscaled
from ingest.typemap.column import Mapped, Mapper
from ingest.typemap.lookup import rows_of

pytestmark = pytest.mark.spark

FAULT = "fault"
MYSQL = DIALECTS["mysql"]
LONGEST = timedelta(hours=838, minutes=59, seconds=59, microseconds=999_999)
MICROSECOND = timedelta(microseconds=1)
VARIABLE = {
    **semantic("record", "io.debezium.data.VariableScaleDecimal"),
    "name": "V",
    "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
}


@attrs.frozen
class Case:
    """A type, and values of it, each with the expected text, or a fault."""

    name: str
    kind: Any
    ddl: str
    outcomes: dict[Any, Any]
    rule: Column = Column()
    types: Types = Types()
    dialect: Dialect = DIALECTS["record"]

    def compile(self, placeholder: str = "") -> Mapped:
        """Compile the type."""
        schema = avro.parse(json.dumps(self.kind))
        mapper = Mapper(
            "w", self.types, {"c": self.rule}, placeholder=placeholder, rows=rows_of(self.dialect)
        )
        return mapper.column("c", schema, "$.c")


def dbz(physical: str, name: str) -> Any:
    """Make one of Debezium's time types."""
    return semantic(physical, f"io.debezium.time.{name}")


def duration(micros: int, digits: int) -> str:
    """Write a count of microseconds as MySQL does."""
    minutes, rest = divmod(abs(micros), 60_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds, fraction = divmod(rest, 1_000_000)
    sign = "-" if micros < 0 else ""
    return f"{sign}{hours:02}:{minutes:02}:{seconds:02}.{fraction:06}"[: digits - 6 or None]


TOP = LONGEST // MICROSECOND
DURATIONS = [0, -1, 1, 86_400_000_000, -86_400_000_001, 360_000_000_000, 49_890_123_456, TOP, -TOP]
DURATIONS_MS = [0, -1, 86_400_000, -49_890_123, 2**31 - 1, -(2**31)]
RUBBISH = dict.fromkeys(("idiot", "-x", "+1", "i", "", "infinite", "-2024", "zz-01-01"), FAULT)
YEARS = ["infinity", "-infinity", "0000-12-31T00:00:00Z", "-0043-03-15T00:00:00Z", "+10000-01-01T00:00:00Z",
         "+294276-12-31T23:59:59Z", "-4712-01-01T00:00:00Z"]  # fmt: skip
CROSSED = ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00"]
ENDS = {
    "0001-01-01T00:00:00Z": "0001-01-01 00:00:00",
    "9999-12-31T23:59:59.999999Z": "9999-12-31 23:59:59.999999",
    "1582-10-10T00:00:00Z": "1582-10-10 00:00:00",
}
COUNTS = {"-62135596800000": "0001-01-01 00:00:00", "253402300799999": "9999-12-31 23:59:59.999"}
BEYOND_COUNTS = ["-62135596800001", "253402300800000", "9223372036825200", str(2**63 - 1), str(-(2**63))]
CDL = semantic("string", "com.acme.cdc.data.timestamp")


def by_policy(name: str, kind: Any, ddl: str, within: dict[Any, Any], beyond: list[Any]) -> list[Case]:
    """Make the cases of a type under both policies for what lies beyond the years 1 to 9999."""
    return [
        Case(
            f"{name}, {policy}",
            kind,
            ddl,
            {**within, **dict.fromkeys(beyond, out)},
            types=Types(out_of_range=policy),
        )
        for policy, out in (("fail", FAULT), ("null", None))
    ]


CASES = [
    Case("Enum of MySQL", semantic("string", "io.debezium.data.Enum"), "string",
         {"a\\,b": "a,b", "a,b": "a,b", "a\\b": "a\\b", "": ""}, dialect=MYSQL),
    # --- durations ---------------------------------------------------------------------------------
    Case("MicroTime of MySQL", dbz("long", "MicroTime"), "bigint",
         {**{n: duration(n, 6) for n in DURATIONS},
          **dict.fromkeys((TOP + 2, -TOP - 2, 2**63 - 1, -(2**63)), FAULT)}, dialect=MYSQL),
    Case("Time of MySQL", dbz("int", "Time"), "int",
         {n: duration(n * 1000, 3) for n in DURATIONS_MS}, dialect=MYSQL),
    Case("MicroTime of MySQL as micros", dbz("long", "MicroTime"), "bigint",
         {**{n: str(n) for n in DURATIONS}, -(2**63): FAULT}, types=Types(time="micros"), dialect=MYSQL),
    Case("Time of MySQL as micros", dbz("int", "Time"), "int",
         {n: str(n * 1000) for n in DURATIONS_MS}, types=Types(time="micros"), dialect=MYSQL),
    Case("MicroTime of others", dbz("long", "MicroTime"), "bigint",
         {86_400_000_000: "24:00:00.000000", 86_400_000_001: FAULT, -1: FAULT}),
    # --- beyond the years 1 to 9999 ------------------------------------------------------------------
    *by_policy("ZonedTimestamp", dbz("string", "ZonedTimestamp"), "string",
               {**ENDS, **RUBBISH, "12:00:00Z": FAULT}, YEARS + CROSSED),
    *by_policy("IsoTimestamp", dbz("string", "IsoTimestamp"), "string", {**ENDS, **RUBBISH}, YEARS),
    *by_policy("IsoDate", dbz("string", "IsoDate"), "string",
               {"0001-01-01Z": "0001-01-01", "9999-12-31Z": "9999-12-31", **RUBBISH},
               ["infinity", "-infinity", "0000-12-31Z", "-0043-03-15Z", "+10000-01-01Z", "+5874897-12-31Z"]),
    *by_policy("timestamp of CDL", CDL, "string",
               {**{text.replace("T", " ").rstrip("Z"): out for text, out in ENDS.items()}, **COUNTS,
                "1707047996013": "2024-02-04 11:59:56.013", "9" * 20: FAULT, "12:00:00": FAULT,
                "2024-01-01 00:00:00+08:00": FAULT, "2024-01-01 00:00:00.5-08": FAULT, "x": FAULT,
                "2024-01-01": "2024-01-01 00:00:00"},
               [text.replace("T", " ") for text in YEARS] + BEYOND_COUNTS),
    # --- decimals ----------------------------------------------------------------------------------
    Case("VariableScaleDecimal", VARIABLE, "struct<scale:int,value:binary>",
         {(3, unscaled(123_456)): "123.456", (-40, unscaled(-1)): f"-1{'0' * 40}",
          (3, b""): FAULT, (None, b"\x01"): FAULT, (1, None): FAULT,
          **dict.fromkeys([(2**31 - 1, b"\x01"), (-(2**31), b"\x01")], FAULT)}),
    Case("VariableScaleDecimal, declared", VARIABLE, "struct<scale:int,value:binary>",
         {(3, unscaled(1500)): "1.50", (0, unscaled(-(10**18) + 1)): f"{-(10**18) + 1}.00",
          (3, unscaled(1501)): FAULT, (0, unscaled(10**18)): FAULT, (-18, unscaled(1)): FAULT,
          (3, b""): FAULT},
         Column(type="decimal(20,2)")),
    Case("text, declared a decimal", "string", "string",
         {"1.500": "1.50", "-0.01": "-0.01", "7": "7.00", "1.501": FAULT, "NaN": FAULT, "": FAULT,
          "1E-3": FAULT}, Column(type="decimal(20,2)")),
    Case("decimal(45,3)", decimal(45, 3), "binary",
         {unscaled(10**45 - 1): f"{'9' * 42}.999", unscaled(-1): "-0.001", b"": FAULT}),
    Case("decimal(45,3), declared", decimal(45, 3), "binary",
         {unscaled(1500): "1.50", unscaled(1501): FAULT, unscaled(10**45 - 1): FAULT, b"": FAULT},
         Column(type="decimal(38,2)")),
    Case("decimal(30,-5)", decimal(30, -5), "binary",
         {unscaled(10**30 - 1): f"{'9' * 30}00000", unscaled(-1): "-100000", unscaled(10**33): FAULT,
          b"": FAULT}),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_value_is_converted_or_a_fault(case: Case, spark: SparkSession) -> None:
    """Never rounded, never another moment, and no value stops the others."""
    result = case.compile()
    frame = spark.createDataFrame([(value,) for value in (*case.outcomes, None)], f"c {case.ddl}")
    text = f"cast({result.convert(sql('c'))} as string)"
    rows = frame.selectExpr(text, f"coalesce({result.fails(sql('c')) or 'false'}, false)").collect()
    outcomes = [FAULT if fault else out for out, fault in rows]
    assert dict(zip(case.outcomes, outcomes, strict=False)) == case.outcomes
    assert outcomes[-1] is None, "null stays null"


def test_arrays_hold_null_beyond_the_range_and_fail_for_invalid_values(spark: SparkSession) -> None:
    """Element by element."""
    kind = {"type": "array", "items": nullable(dbz("string", "ZonedTimestamp"))}
    result = Case("", kind, "", {}, types=Types(out_of_range="null")).compile()
    rows = [(["infinity", "2024-01-01T00:00:00Z", None],), (["2024-01-01T00:00:00Z", "x"],)]
    frame = spark.createDataFrame(rows, "c array<string>")
    item, other = frame.selectExpr(
        f"cast({result.convert(sql('c'))} as array<string>)", str(result.fails(sql("c")))
    ).collect()
    assert tuple(item) == ([None, "2024-01-01 00:00:00", None], False)
    assert other[1]


# --- placeholders ------------------------------------------------------------------------------------

PLACEHOLDERS = {
    "__debezium_unavailable_value": b"__debezium_unavailable_value",
    "hex:deadff00": b"\xde\xad\xff\x00",
    "quote\"s and '\\": b"quote\"s and '\\",
}
TEXTS = ("Xml", "Ltree", "Tsvector", "Enum")


def forms(octets: bytes) -> list[tuple[Any, str, Any, Any]]:
    """List the types that have a placeholder: Avro, Spark, the placeholder's form, and a true value."""
    text = octets.decode(errors="replace")
    codes = [octet - 256 if octet > 127 else octet for octet in octets]
    digest = bytearray(md5(octets, usedforsecurity=False).digest())
    digest[6], digest[8] = (
        digest[6] & 0x0F | 0x30,
        digest[8] & 0x3F | 0x80,
    )  # java.util.UUID.nameUUIDFromBytes
    pair = json.dumps({text: text}, ensure_ascii=False, separators=(",", ":"))
    json_type, uuid_type = (semantic("string", f"io.debezium.data.{name}") for name in ("Json", "Uuid"))
    return [
        ("string", "string", text, text + "x"),
        *((semantic("string", f"io.debezium.data.{name}"), "string", text, "") for name in TEXTS),
        ("bytes", "binary", octets, b""),
        (json_type, "string", text, '{"a":"b"}'),
        (json_type, "string", pair, pair + " "),
        (json_type, "string", pair.replace('":"', '": "'), "[]"),
        (_array("string"), "array<string>", [text], [text, text]),
        (_array("bytes"), "array<binary>", [octets], [None]),
        (_array("int"), "array<int>", codes, codes[1:]),
        (_array("long"), "array<bigint>", codes, [None]),
        (_array(uuid_type), "array<string>", [str(uuid.UUID(bytes=bytes(digest)))], []),
        ({"type": "map", "values": nullable("string")}, "map<string,string>", {text: text}, {"a": text}),
    ]


def _array(items: Any) -> Any:
    return {"type": "array", "items": nullable(items)}


@pytest.mark.parametrize("placeholder", PLACEHOLDERS)
def test_a_placeholder_is_known_in_each_of_its_forms(placeholder: str, spark: SparkSession) -> None:
    """And neither a value nor null is taken for one."""
    for kind, ddl, absent, present in forms(PLACEHOLDERS[placeholder]):
        result = Case("", kind, ddl, {}).compile(placeholder)
        frame = spark.createDataFrame([(absent,), (present,), (None,)], f"c {ddl}")
        text = f"coalesce({result.is_unavailable(result.convert(sql('c')))}, false)"
        assert [row[0] for row in frame.selectExpr(text).collect()] == [True, False, False], (kind, text)


@pytest.mark.parametrize(
    "kind",
    [
        "int", "long", "boolean", "double", dbz("string", "ZonedTimestamp"), dbz("int", "Date"),
        decimal(9, 2), decimal(45, 3), VARIABLE, semantic("string", "io.debezium.data.Uuid"),
        semantic("string", "com.acme.cdc.data.Decimal"), _array(dbz("int", "Date")), _array(decimal(9, 2)),
        {"type": "map", "values": "int"},
    ],
    ids=str,
)  # fmt: skip
def test_a_type_that_is_never_unavailable_has_no_placeholder(kind: Any) -> None:
    """Fixed width, or converted: no update is looked up for its sake."""
    assert not Case("", kind, "", {}).compile("__debezium_unavailable_value").unavailable


def test_a_source_without_placeholders_has_none() -> None:
    """The text itself is a value there."""
    assert not Case("", "string", "", {}).compile().unavailable
