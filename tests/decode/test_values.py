"""Every type at its extremes, against values worked out with Python's own dates and decimals."""

import math
import os
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.tables import Column
from ingest.tables.types import Timestamps
from ingest.testing import decimal, nullable, semantic, unscaled
from tests.compile.sqlserver import ID, compiled, table
from tests.decode.messages import Topic, frame, rows_of

pytestmark = pytest.mark.spark

EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  wall clocks have no zone
MICROSECOND = timedelta(microseconds=1)
DAYS = [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1899, 12, 31), date(1900, 2, 28)]
DAYS += [date(1969, 12, 31), date(1970, 1, 1), date(2024, 2, 29), date(9999, 12, 31)]
MOMENTS = [
    *(datetime.combine(day, clock) for day in DAYS for clock in (time(), time(11, 51, 30, 123_000))),
    datetime(1969, 12, 31, 23, 59, 59, 999_000),  # noqa: DTZ001
    datetime(9999, 12, 31, 23, 59, 59, 999_000),  # noqa: DTZ001
]
FINE_MOMENTS = [
    *MOMENTS,
    *(moment.replace(microsecond=999_999) for moment in MOMENTS),
    *(moment.replace(microsecond=1) for moment in MOMENTS),
]
CLOCKS_NS = [0, 1_000_000, 45_296_789_000_000, 86_399_999_000_000]
ZONED = [
    *("0001-01-01T00:00:00Z", "9999-12-31T23:59:59.9999999Z", "1900-01-01T00:00:00+14:00"),
    *("2016-11-04T11:51:30.1234567+05:45", "2016-11-04T11:51:30-12:00", "2016-03-27T02:30:00.5Z"),
    *("2024-01-01T00:00:00.1+18:00", "2024-12-31T23:59:59.999999999-18:00", "2024-01-01T00:00:00-00:30"),
    *("1582-10-10T00:00:00+00:00", "1969-12-31T23:59:59.9999999Z", "2024-02-29T12:00:00.123+14:00"),
]
TEXTS = ["", " ", "a", "'\"\\`;--", "\x00\n\t", "ß", "数据", "🦆", "e\u0301", "NULL", "x" * 5000]
BYTES = [b"", b"\x00", bytes(range(256)), b"\xff" * 8]
INTS = [0, 1, -1, 2**31 - 1, -(2**31)]
LONGS = [*INTS, 2**63 - 1, -(2**63)]
FLOATS = [0.0, -0.0, 0.1, -1.5, math.inf, -math.inf, math.nan, 3.4028234663852886e38, 1.401298464324817e-45]


def micros(moment: datetime) -> int:
    """Count the microseconds since 1970."""
    return (moment - EPOCH) // MICROSECOND


def spark_text(moment: datetime) -> str:
    """Write a moment as Spark does: no zeros at the end of the fraction."""
    text = moment.isoformat(" ")
    return text.rstrip("0") if "." in text else text


def clock(count: int, digits: int) -> str:
    """Write a count of 10^-digits seconds since midnight as a time."""
    seconds, fraction = divmod(count, 10**digits)
    whole = EPOCH + timedelta(seconds=seconds % 86_400)
    hour = 24 if seconds == 86_400 else whole.hour
    return f"{hour:02}:{whole.minute:02}:{whole.second:02}.{fraction:0{digits}}"


def as_instant(text: str) -> str:
    """Read a zoned timestamp; give it as Spark shows it in UTC."""
    return spark_text(datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None))


def as_real(number: float) -> float:
    """Round to 32 bits."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


@attrs.frozen
class Case:
    """A type, and pairs of the value on the wire and the expected value."""

    name: str
    kind: Any
    pairs: list[tuple[Any, Any]]
    rule: Column = Column()


def same(name: str, kind: Any, values: list[Any], **rule: Any) -> Case:
    """Make the case of values that come out as they went in."""
    return Case(name, kind, [(value, value) for value in values], Column(**rule))


def made(
    name: str,
    kind: Any,
    values: list[Any],
    physical: Callable[[Any], Any],
    out: Callable[[Any], Any],
    **rule: Any,
) -> Case:
    """Make the case of true values: their form on the wire, and the expected values."""
    return Case(name, kind, [(physical(value), out(value)) for value in values], Column(**rule))


def dbz(physical: str, name: str) -> Any:
    """Make one of Debezium's time types."""
    return semantic(physical, f"io.debezium.time.{name}")


def connect(physical: str, name: str, logical: str) -> Any:
    """Make one of Connect's own types."""
    return semantic(physical, f"org.apache.kafka.connect.data.{name}", logicalType=logical)


def dates(name: str, kind: Any) -> Case:
    """Make the case of a count of days."""
    return made(name, kind, DAYS, lambda day: (day - EPOCH.date()).days, date.isoformat)


def clocks(name: str, kind: Any, digits: int, extra: list[int], policy: str) -> Case:
    """Make the case of a count since midnight."""
    counts = [*(ns // 10 ** (9 - digits) for ns in CLOCKS_NS), *extra, 86_400 * 10**digits]
    out = (lambda n: clock(n, digits)) if policy == "string" else (lambda n: n * 10**6 // 10**digits)
    return made(f"{name} as {policy}", kind, counts, int, out, time=policy)


def stamps(name: str, kind: Any, per_micro: int, per_unit: int, moments: list[datetime], **rule: Any) -> Case:
    """Make the case of a count since 1970, of `per_micro` units a microsecond or `per_unit` µs a unit."""
    return made(name, kind, moments, lambda m: micros(m) * per_micro // per_unit, spark_text, **rule)


def decimals(precision: int | None, scale: int, numbers: list[int]) -> Case:
    """Make the case of a decimal, by unscaled numbers."""

    def out(number: int) -> Decimal:
        return Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale))

    return made(f"decimal({precision},{scale})", decimal(precision, scale), numbers, unscaled, out)


def variable(name: str) -> Any:
    """Make a number that brings its own scale."""
    return {
        "type": "record",
        "name": name,
        "fields": [{"name": "scale", "type": "int"}, {"name": "value", "type": "bytes"}],
        "connect.name": "io.debezium.data.VariableScaleDecimal",
    }


def scaled(number: Decimal) -> dict[str, Any]:
    """Write a number with its scale, as Java's BigDecimal has them."""
    sign, digits, exponent = number.as_tuple()
    whole = int("".join(map(str, digits))) * (-1 if sign else 1)
    return {"scale": -int(exponent), "value": unscaled(whole)}


def plain(number: Decimal) -> str:
    """Write a number in plain notation."""
    return f"{number:f}"


NUMBERS = [
    *map(Decimal, ("0", "1", "-1", "0.1", "-0.000000001", "123.456", "1E+40", "-1E+40", "1E-84", "9.90")),
    *map(Decimal, (10**38, -(10**40) - 1, 2**127, -(2**127))),
    Decimal((0, (9,) * 60, -30)),
]
INFINITE_DAYS = [-2147472692, -2147472691, -622191234, -625821272, -735160, 2932897]
INFINITE_MICROS = [9223372036825200000, -9223372036832400000, -62135596800000001, 253402300800000000]
INFINITE_TEXTS = ["infinity", "-infinity", "-0043-03-15T00:00:00Z", "+10000-01-01T00:00:00Z"]
WITHIN_64_BITS = [m for m in FINE_MOMENTS if 1678 <= m.year <= 2261]
TOP = 10**38 - 1
CASES = [
    same("boolean", "boolean", [True, False]),
    same("int", "int", INTS),
    same("int16", {"type": "int", "connect.type": "int16"}, [0, -(2**15), 2**15 - 1]),
    same("bigint", "long", LONGS),
    same("float", "float", [as_real(number) for number in FLOATS]),
    same("double", "double", [*FLOATS, 1.7976931348623157e308, 5e-324]),
    same("string", "string", TEXTS),
    same("binary", "bytes", BYTES),
    *(
        same(name, semantic("string", f"io.debezium.data.{name}"), TEXTS)
        for name in ("Xml", "Json", "Uuid", "Enum")
    ),
    same("Bits", semantic("bytes", "io.debezium.data.Bits"), BYTES),
    same("uuid", {"type": "string", "logicalType": "uuid"}, TEXTS),
    same("enum", {"type": "enum", "name": "Colour", "symbols": ["red", "blue"]}, ["red", "blue"]),
    same("fixed", {"type": "fixed", "name": "Four", "size": 4}, [b"\x00\x01\xfe\xff"]),
    # --- dates -------------------------------------------------------------------------------------
    dates("Date", dbz("int", "Date")),
    dates("connect Date", connect("int", "Date", "date")),
    dates("avro date", {"type": "int", "logicalType": "date"}),
    made("IsoDate", dbz("string", "IsoDate"), DAYS, lambda day: f"{day.isoformat()}Z", date.isoformat),
    # --- times -------------------------------------------------------------------------------------
    *(
        clocks(name, kind, digits, [top], policy)
        for policy in ("string", "micros")
        for name, kind, digits, top in (
            ("Time", dbz("int", "Time"), 3, 86_399_999),
            ("connect Time", connect("int", "Time", "time-millis"), 3, 86_399_999),
            ("time-millis", {"type": "int", "logicalType": "time-millis"}, 3, 86_399_999),
            ("MicroTime", dbz("long", "MicroTime"), 6, 86_399_999_999),
            ("NanoTime", dbz("long", "NanoTime"), 9, 86_399_999_999_900),
        )
    ),
    Case(
        "IsoTime",
        dbz("string", "IsoTime"),
        [("15:13:16.9451045Z", "15:13:16.9451045"), ("00:00:00Z", "00:00:00")],
    ),
    same("ZonedTime", dbz("string", "ZonedTime"), ["11:51:30.123789Z", "23:59:59+05:45"]),
    # --- wall clocks -------------------------------------------------------------------------------
    stamps("Timestamp", dbz("long", "Timestamp"), 1, 1000, MOMENTS),
    stamps("connect Timestamp", connect("long", "Timestamp", "timestamp-millis"), 1, 1000, MOMENTS),
    stamps("timestamp-millis", {"type": "long", "logicalType": "timestamp-millis"}, 1, 1000, MOMENTS),
    stamps("MicroTimestamp", dbz("long", "MicroTimestamp"), 1, 1, FINE_MOMENTS),
    stamps("NanoTimestamp", dbz("long", "NanoTimestamp"), 1000, 1, WITHIN_64_BITS),
    Case(
        "NanoTimestamp below the microsecond",
        dbz("long", "NanoTimestamp"),
        [
            (-100, "1969-12-31 23:59:59.999999"),
            (100, "1970-01-01 00:00:00"),
            (-1100, "1969-12-31 23:59:59.999998"),
        ],
    ),
    same(
        "NanoTimestamp as bigint",
        dbz("long", "NanoTimestamp"),
        [0, -100, 1_529_507_596_945_104_500],
        nanos="bigint",
    ),
    made(
        "IsoTimestamp",
        dbz("string", "IsoTimestamp"),
        FINE_MOMENTS,
        lambda moment: f"{moment.isoformat()}{'9' if moment.microsecond else ''}Z",
        spark_text,
    ),
    Case(
        "IsoTimestamp as string",
        dbz("string", "IsoTimestamp"),
        [("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999")],
        Column(nanos="string"),
    ),
    # --- instants ----------------------------------------------------------------------------------
    made("ZonedTimestamp", dbz("string", "ZonedTimestamp"), ZONED, str, as_instant),
    same("ZonedTimestamp as string", dbz("string", "ZonedTimestamp"), [*ZONED, "infinity"], type="string"),
    # --- numbers -----------------------------------------------------------------------------------
    decimals(38, 0, [0, 1, -1, TOP, -TOP, 2**63, -(2**63) - 1]),
    decimals(38, 10, [TOP, -TOP, 5]),
    decimals(38, 38, [TOP, -TOP, 1]),
    decimals(None, 4, [TOP, -TOP, 12_345]),
    decimals(9, 3, [0, 999_999_999, -999_999_999, 127, 128, -128, -129]),
    decimals(19, 4, [2**63 - 1, -(2**63)]),
    decimals(5, 0, [99_999, -99_999]),
    made(
        "avro decimal",
        {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2},
        [-12_345, 1],
        unscaled,
        lambda number: Decimal(number) / 100,
    ),
    made("VariableScaleDecimal", variable("V1"), NUMBERS, scaled, plain),
    made(
        "VariableScaleDecimal as decimal",
        variable("V2"),
        [Decimal("1.50"), Decimal("-12345678901234567890.123"), Decimal("1E+3")],
        scaled,
        lambda number: number.quantize(Decimal("0.001")),
        type="decimal(30,3)",
    ),
    made(
        "array of VariableScaleDecimal",
        {"type": "array", "items": nullable(variable("V3"))},
        [[Decimal("1.5"), None], []],
        lambda numbers: [n and scaled(n) for n in numbers],
        lambda numbers: [n and plain(n) for n in numbers],
    ),
    made(
        "decimal(45,3)",
        decimal(45, 3),
        [0, 1, -1, 10**45 - 1, -(10**45) + 1],
        unscaled,
        lambda n: plain(Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -3))),
    ),
    made(
        "decimal(45,3) as decimal",
        decimal(45, 3),
        [0, 1, -1, 10**38 - 1, -(10**38) + 1],
        unscaled,
        lambda n: Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -3)),
        type="decimal(38,3)",
    ),
    made(
        "decimal(30,-5)",
        decimal(30, -5),
        [0, 1, -1, 10**30 - 1, -(10**30) + 1],
        unscaled,
        lambda n: Decimal(n * 10**5),
    ),
    # --- beyond the years 1 to 9999 ------------------------------------------------------------------
    Case(
        "Date beyond",
        dbz("int", "Date"),
        [*((days, None) for days in INFINITE_DAYS if days != -622191234), (0, "1970-01-01")],
        Column(out_of_range="null"),
    ),
    Case(
        "MicroTimestamp beyond",
        dbz("long", "MicroTimestamp"),
        [*((count, None) for count in INFINITE_MICROS), (1, "1970-01-01 00:00:00.000001")],
        Column(out_of_range="null"),
    ),
    Case(
        "ZonedTimestamp beyond",
        dbz("string", "ZonedTimestamp"),
        [*((text, None) for text in INFINITE_TEXTS), ("2024-01-01T00:00:00Z", "2024-01-01 00:00:00")],
        Column(out_of_range="null"),
    ),
    Case(
        "array of Date beyond",
        {"type": "array", "items": nullable(dbz("int", "Date"))},
        [([0, -2147472692, None], [date(1970, 1, 1), None, None])],
        Column(out_of_range="null"),
    ),
    # --- other connectors ----------------------------------------------------------------------------
    same("Interval", dbz("string", "Interval"), ["P1Y2M3DT4H5M6.78S", "P-48Y-9M0DT0H0M0S"]),
    same("MicroDuration", dbz("long", "MicroDuration"), LONGS),
    same("Year", dbz("int", "Year"), [1901, 2155, 0]),
    *(
        same(name, semantic("string", f"io.debezium.data.{name}"), TEXTS)
        for name in ("Ltree", "Tsvector", "EnumSet")
    ),
    same("CDL Decimal", semantic("string", "com.acme.cdc.data.Decimal"), ["1.50", "-1E+3"]),
    made(
        "CDL Decimal as decimal",
        semantic("string", "com.acme.cdc.data.Decimal"),
        ["1.50", "-17"],
        str,
        lambda text: Decimal(text).quantize(Decimal("0.01")),
        type="decimal(20,2)",
    ),
    Case(
        "CDL timestamp",
        semantic("string", "com.acme.cdc.data.timestamp"),
        [("2024-02-29 12:00:00.5", "2024-02-29 12:00:00.5"), ("1707047996013", "2024-02-04 11:59:56.013")],
    ),
    # --- declared ----------------------------------------------------------------------------------
    same("int as bigint", "int", INTS, type="bigint"),
    made("int as double", "int", INTS, int, float, type="double"),
    made("float as double", "float", [0.1, -1.5, math.inf, math.nan], float, as_real, type="double"),
    made(
        "decimal as wider",
        decimal(9, 3),
        [1, -999_999_999],
        unscaled,
        lambda n: Decimal(n) / 1000,
        type="decimal(20,4)",
    ),
]
COLUMNS = {f"c{n}": case for n, case in enumerate(CASES)}
ROWS = max(len(case.pairs) for case in CASES) + 1
"""One more than the longest column: the last row is null in every one of them."""


def decode(
    spark: SparkSession, cases: Mapping[str, Case], timestamps: Timestamps = "ntz"
) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Decode cases at once; return each one's type, and its values by row, moments as text."""
    topic = Topic([{**ID, **{name: nullable(case.kind) for name, case in cases.items()}}])
    rows = [
        {"id": n, **{name: case.pairs[n][0] if n < len(case.pairs) else None for name, case in cases.items()}}
        for n in range(ROWS)
    ]
    of = table(columns={name: case.rule for name, case in cases.items()}, timestamps=timestamps)
    counts, written = rows_of(frame(spark, [topic.row(row) for row in rows]), compiled(topic.versions, of=of))
    assert (counts.rejected, counts.upserted) == (0, ROWS)
    types = dict(written.dtypes)
    shown = [
        f"cast({c} as string) as {c}" if types[c] in ("date", "timestamp", "timestamp_ntz") else c
        for c in ("id", *cases)
    ]
    collected = written.selectExpr(*shown).orderBy("id").collect()
    return types, {name: [row[name] for row in collected] for name in cases}


@pytest.fixture(scope="module")
def decoded(spark: SparkSession) -> tuple[dict[str, str], dict[str, list[Any]]]:
    """Decode all cases."""
    return decode(spark, COLUMNS)


def comparable(value: Any) -> Any:
    """Make NaN equal to itself, 0.0 other than -0.0, and True other than 1."""
    match value:
        case float():
            return (float, repr(value))
        case bytearray():
            return (bytes, bytes(value))
        case _:
            return (type(value), value)


@pytest.mark.parametrize("name", COLUMNS, ids=lambda name: COLUMNS[name].name)
def test_a_value_comes_out_as_it_was_at_the_source(
    name: str, decoded: tuple[dict[str, str], dict[str, list[Any]]]
) -> None:
    """At both ends of its type, and null where it was null."""
    expected = [comparable(out) for _, out in COLUMNS[name].pairs]
    nulls = [comparable(None)] * (ROWS - len(expected))
    assert [comparable(value) for value in decoded[1][name]] == expected + nulls


def test_a_wall_clock_stored_as_if_in_utc_shows_its_digits_in_utc(
    spark: SparkSession, decoded: tuple[dict[str, str], dict[str, list[Any]]]
) -> None:
    """Of each semantic type without a zone, at both ends of the calendar; other types are as before."""
    cases = {name: case for name, case in COLUMNS.items() if decoded[0][name].startswith("timestamp")}
    types, values = decode(spark, cases, "utc")
    assert {types[name] for name in cases} == {"timestamp"} < {decoded[0][name] for name in cases}
    assert values == {name: decoded[1][name] for name in cases}


def test_the_process_is_in_a_zone_of_its_own() -> None:
    """Else these tests would not see a zone slip in."""
    assert os.environ["TZ"] == "Asia/Shanghai"
