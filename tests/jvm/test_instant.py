"""`ingest_instant` against Spark's own `try_cast` of a text with a year to a timestamp, in UTC."""

from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DATES = (
    "0000-01-01", "0001-01-01", "1582-10-10", "1700-02-29", "1899-12-31", "1969-12-31", "1970-01-01",
    "2000-02-29", "2023-02-29", "2024-02-29", "2024-02-30", "2024-04-31", "2024-12-31", "2024-13-01",
    "2024-00-10", "2024-01-00", "2024-01-32", "9999-12-31", "2024-1-1",
    "+12024-01-01", "-0001-01-01", "20x4-01-01",
)  # fmt: skip
TIMES = (
    "00:00:00", "23:59:59", "24:00:00", "12:60:00", "12:00:60", "12:34:56.1", "12:34:56.123456",
    "12:34:56.123456789", "12:34:56.1234567891", "12:34:56.", "12:34:56.x", "12:34", "1:2:3", "12-34-56",
)  # fmt: skip
ZONES = (
    "", "Z", "z", "+00:00", "-00:00", "+02:00", "-11:30", "+14:00", "+17:59", "-17:59",
    "+18:00", "+18:01", "+05:60", "-19:00", "+5x:00", "+5:00", "+0500", "+05", "+05:30:15", "Q", "+Z",
    "Zx", " Z", "UTC", "Europe/Berlin", "ä",
)  # fmt: skip
PIECES = st.sampled_from([*"0123456789-+:.TZ ", "ä", "00", "12", "2024"])


def _different(spark: SparkSession, texts: Sequence[str | None]) -> list[tuple[object, ...]]:
    frame = spark.createDataFrame([(text,) for text in texts], "text string").coalesce(1)
    both = frame.selectExpr(
        "text",
        "cast(ingest_instant(text) as string) as ours",
        "if(substring(text, 5, 1) = '-', cast(try_cast(text as timestamp) as string), null)",
    )
    return [tuple(row) for row in both.collect() if row[1] != row[2]]


@pytest.fixture(scope="module")
def knowing(spark: SparkSession) -> SparkSession:
    """Give a session that knows the function."""
    spark._jvm.io.hudicdc.ingest.Expressions.register(spark._jsparkSession)  # type: ignore[union-attr] # noqa: SLF001  no other way
    return spark


def test_every_form_gives_the_moment_that_spark_gives(knowing: SparkSession) -> None:
    """Days that are none, leap years, digits beyond microseconds, offsets to their ends, garbage."""
    texts = [f"{date}{t}{time}{zone}" for date, t, time, zone in product(DATES, "T ", TIMES, ZONES)]
    alone = [None, "", " ", "T", "infinity", "now", "epoch", "12:00:00Z", *DATES, *TIMES, *ZONES]

    assert _different(knowing, [*texts, *alone, "  2024-01-01T00:00:00Z "]) == []


@settings(
    max_examples=10,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.tuples(st.integers(0, 33), st.integers(0, 3), PIECES), min_size=200, max_size=500))
def test_damaged_texts_do_too(knowing: SparkSession, damage: list[tuple[int, int, str]]) -> None:
    """Anything put in or in place of anything."""
    whole = "2024-03-09T12:34:56.1234567+02:00"
    texts = [f"{whole[:at]}{piece}{whole[at + deleted :]}" for at, deleted, piece in damage]

    assert _different(knowing, texts) == []


def test_text_is_read_as_debezium_writes_it(knowing: SparkSession) -> None:
    """To the microsecond, in UTC."""
    row = knowing.sql("select unix_micros(ingest_instant('2024-03-09T12:34:56.1234567+02:00'))").first()

    assert row is not None
    assert row[0] == 1_709_980_496_123_456
