"""`ingest_clock` and `ingest_ticks` against plain Python."""

import random
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DAY_S = 86_400
WRAP = 1 << 64
FIRST, LAST = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _text(count: int | None, digits: int) -> str | None:
    if count is None:
        return None
    seconds, rest = divmod(abs(count), 10**digits)
    sign = "-" if count < 0 else ""
    return f"{sign}{seconds // 3600:02d}:{seconds // 60 % 60:02d}:{seconds % 60:02d}.{rest:0{digits}d}"


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_a_count_is_written_with_all_its_digits(spark: SparkSession, digits: int) -> None:
    """Times of day to midnight, durations to either side, and the ends of 64 bits."""
    choose = random.Random(digits)  # noqa: S311  no secret
    day = DAY_S * 10**digits
    counts: list[int | None] = [None, 0, 1, -1, day - 1, day, day + 1, -(1 << 63), (1 << 63) - 1]
    counts += [100 * day // 24 + step for step in (-1, 0)]  # hours of two and of three digits
    counts += [choose.randint(-35 * day, 35 * day) for _ in range(1_000)]
    frame = spark.createDataFrame([(count,) for count in counts], "c bigint")
    rows = frame.selectExpr("c", f"ingest_clock(c, {digits}) as text").collect()
    assert {row.c: row.text for row in rows} == {count: _text(count, digits) for count in counts}


def _instants() -> list[int]:
    """Return moments in ticks of 100 ns since 1970: the ends, where the wraps begin, and any."""
    choose = random.Random(1)  # noqa: S311  no secret
    first = (FIRST - EPOCH) // timedelta(microseconds=1) * 10
    last = (LAST - EPOCH) // timedelta(microseconds=1) * 10 + 9
    borders = [side * (WRAP // 200) + n * (WRAP // 100) for n in range(-4, 15) for side in (-1, 1)]
    near = [border + step for border in borders for step in (-1, 0, 1)]
    ticks = [first, last, 0, -1, 1, *near, *(choose.randint(first, last) for _ in range(2_000))]
    return [tick for tick in ticks if first <= tick <= last]


def test_wrapped_moments_are_those_of_the_source(spark: SparkSession) -> None:
    """Every moment of the years 1 to 9999 comes back from its low 64 bits, to the microsecond below."""
    ticks = _instants()
    wrapped = [(tick * 100 + (WRAP >> 1)) % WRAP - (WRAP >> 1) for tick in ticks]
    frame = spark.createDataFrame(list(zip(ticks, wrapped, strict=True)), "tick bigint, c bigint")
    rows = frame.selectExpr("tick", "unix_micros(cast(ingest_ticks(c) as timestamp)) as micros").collect()
    assert {row.tick: row.micros for row in rows} == {tick: tick // 10 for tick in ticks}


def test_a_number_that_no_moment_wraps_to_gives_null(spark: SparkSession) -> None:
    """Ticks are whole, and the wraps reach beyond the years that there are."""
    numbers = [1, 2, 3, 50, -2, 99, (1 << 63) - 1, *(item + 100 * 2**40 for item in range(4, 100, 4))]
    frame = spark.createDataFrame([(number,) for number in numbers], "c bigint")
    rows = frame.selectExpr("c", "unix_micros(cast(ingest_ticks(c) as timestamp)) as micros").collect()
    expected = {}
    for number in numbers:
        fitting = [k for k in range(-10, 15) if (number + k * WRAP) % 100 == 0]
        micros = [(number + k * WRAP) // 1000 for k in fitting]
        inside = [moment for moment in micros if _is_moment(moment)]
        expected[number] = inside[0] if inside else None
    assert {row.c: row.micros for row in rows} == expected
    assert None in expected.values()


def _is_moment(micros: int) -> bool:
    first, last = ((item - EPOCH) // timedelta(microseconds=1) for item in (FIRST, LAST))
    return first <= micros <= last
