"""`ingest_plain_decimal` against Python's own decimals."""

from decimal import Decimal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

Row = tuple[int | None, bytearray | None]


def _plain(spark: SparkSession, rows: list[Row]) -> list[str | None]:
    frame = spark.createDataFrame(rows, "scale int, unscaled binary").coalesce(1)
    return [row[0] for row in frame.selectExpr("ingest_plain_decimal(scale, unscaled)").collect()]


def _bytes(unscaled: int) -> bytearray:
    return bytearray(unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True))


def test_numbers_are_written_out(spark: SparkSession) -> None:
    """Any scale, any sign, more digits than Spark's decimals have, and no exponent."""
    rows: list[Row] = [
        (2, _bytes(12345)),
        (0, _bytes(-7)),
        (-3, _bytes(12)),
        (10, _bytes(1)),
        (5, _bytes(10**60 + 1)),
        (2, _bytes(100)),
        (3, bytearray(b"\xff")),
    ]

    assert _plain(spark, rows) == [
        "123.45",
        "-7",
        "12000",
        "0.0000000001",
        "1" + "0" * 55 + ".00001",
        "1.00",
        "-0.001",
    ]


def test_nothing_is_made_of_nothing(spark: SparkSession) -> None:
    """Null for null, and for no bytes, which are not a number."""
    assert _plain(spark, [(None, _bytes(1)), (1, None), (1, bytearray())]) == [None, None, None]


@settings(max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(st.integers(-20, 60), st.integers(-(10**80), 10**80)), min_size=100, max_size=300))
def test_equals_pythons_decimal(spark: SparkSession, numbers: list[tuple[int, int]]) -> None:
    """Value and number of decimals, for any number."""
    texts = _plain(spark, [(scale, _bytes(unscaled)) for scale, unscaled in numbers])

    for (scale, unscaled), text in zip(numbers, texts, strict=True):
        digits = Decimal(unscaled).as_tuple()
        expected = Decimal((digits.sign, digits.digits, -scale))
        assert text is not None
        assert text == format(expected, "f") or (unscaled == 0 and scale < 0 and text == "0")
