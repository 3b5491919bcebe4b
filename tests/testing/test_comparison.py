"""`assert_table` is exact, and prints readable differences."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.errors import UsageError
from ingest.testing import assert_table
from ingest.testing.comparison import SHOWN, differences

CUSTOMERS = [
    {"id": 1, "name": "Ada", "credit": Decimal("10.50"), "since": date(2020, 1, 1)},
    {"id": 2, "name": "Bob", "credit": None, "since": date(2020, 1, 2)},
    {"id": 3, "name": "Cyd", "credit": Decimal("0.00"), "since": None},
]


def lines(expected: Sequence[Any], actual: Sequence[Any], *key: str) -> list[str]:
    """Compare rows; return the printed lines."""
    return [line for difference in differences(expected, actual, key or ["id"]) for line in difference.lines]


def test_equal_rows_have_no_difference() -> None:
    """In any order."""
    assert lines(CUSTOMERS, CUSTOMERS[::-1]) == []


def test_rows_and_cells_are_named() -> None:
    """Missing rows, extra rows, and the differing cells of each row, with values and types."""
    actual = [
        {"id": 1, "name": "Ada", "credit": 10.5, "since": date(2020, 1, 1)},
        {"id": 2, "name": "Bo", "credit": Decimal(0), "since": date(2020, 1, 2)},
        {"id": 9, "name": "Eve", "credit": None, "since": None},
    ]
    assert lines(CUSTOMERS, actual) == [
        "missing  id=3, name='Cyd', credit=Decimal('0.00'), since=None",
        "differs  id=1",
        "  credit: expected Decimal('10.50') (Decimal), found 10.5 (float)",
        "differs  id=2",
        "  name: expected 'Bob' (str), found 'Bo' (str)",
        "  credit: expected null, found Decimal('0') (Decimal)",
        "extra    id=9, name='Eve', credit=None, since=None",
    ]


def test_a_duplicate_key_is_reported() -> None:
    """In the table it is a difference, in the expected rows an error of the test."""
    assert lines([{"id": 1}], [{"id": 1}, {"id": 1}]) == ["twice    id=1: 2 rows of one key"]
    with pytest.raises(UsageError, match="two expected rows have the key a=1, b='x'"):
        lines([{"a": 1, "b": "x"}, {"a": 1, "b": "x"}], [], "a", "b")


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (1, 1.0),
        (1, Decimal(1)),
        ("1", 1),
        (b"a", "a"),
        (0.1, 0.1000000001),
        (None, ""),
        ([1, 2], [2, 1]),
        ({"a": 1}, {"a": 1, "b": None}),
        (date(2020, 1, 1), datetime(2020, 1, 1)),  # noqa: DTZ001  a wall clock
        (datetime(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC)),  # noqa: DTZ001  same
    ],
)
def test_values_that_only_look_alike_differ(left: Any, right: Any) -> None:
    """In both directions."""
    assert len(lines([{"id": 0, "v": left}], [{"id": 0, "v": right}])) == 2
    assert len(lines([{"id": 0, "v": right}], [{"id": 0, "v": left}])) == 2


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (float("nan"), float("nan")),
        ([float("nan")], [float("nan")]),
        (Decimal("1.5"), Decimal("1.50")),
        (datetime(2020, 1, 1, 8, tzinfo=timezone(timedelta(hours=8))), datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_values_of_two_spellings_are_equal(left: Any, right: Any) -> None:
    """NaN, trailing zeros, one instant in two zones."""
    assert lines([{"id": 0, "v": left}], [{"id": 0, "v": right}]) == []


# --- against frames ------------------------------------------------------------------------------

DDL = (
    "id int, wall timestamp_ntz, moment timestamp, real float, amount decimal(9,2), raw binary,"
    " nested struct<at: timestamp, raws: array<binary>>, tags map<string, int>, _cdc_op string,"
    " _hoodie_record_key string"
)
MOMENT = datetime(2024, 10, 27, 1, 30, tzinfo=UTC)
WALL = datetime(2024, 10, 27, 1, 30)  # noqa: DTZ001  a wall clock
ROW = {
    "id": 1,
    "wall": WALL,
    "moment": MOMENT,
    "real": 0.1,
    "amount": Decimal("1.50"),
    "raw": b"\0\xff",
    "nested": {"at": MOMENT, "raws": [b"a", None]},
    "tags": {"x": 1},
}

TOLD = """\
the table is not the 2 expected rows: 1 missing, 1 different
missing  id=2, moment=None, amount=None, _cdc_op=None
differs  id=1
  moment: expected 2024-10-27 01:30:00 (datetime without a zone), found 2024-10-27 01:30:00+00:00 \
(datetime with a zone)
  amount: expected 1.5 (float), found Decimal('1.50') (Decimal)
  _cdc_op: expected 'c' (str), found 'u' (str)"""


@pytest.mark.spark
def test_a_frame_is_compared_exactly(spark: SparkSession) -> None:
    """Instants in any zone, 32-bit floats, bytes, nested values; `_cdc_` columns if they are named."""
    values = (*ROW.values(), "u", "1")
    frame = spark.createDataFrame([values], DDL).cache()

    assert_table(frame, [ROW], key=["id"])
    assert_table(frame, [{**ROW, "_cdc_op": "u"}], key=["id"])
    assert_table(frame, [{"id": 1}], key=["id"], columns=["id"])
    with pytest.raises(AssertionError) as caught:
        assert_table(
            frame, [{"id": 1, "moment": WALL, "amount": 1.5, "_cdc_op": "c"}, {"id": 2}], key=["id"],
            columns=["moment", "amount", "_cdc_op"],
        )  # fmt: skip
    assert str(caught.value) == TOLD
    with pytest.raises(AssertionError, match=r"found \{'x': 1\} \(dict\)"):
        assert_table(frame, [{name: value for name, value in ROW.items() if name != "tags"}], key=["id"])


@pytest.mark.spark
def test_long_differences_are_cut(spark: SparkSession) -> None:
    """After a number of rows, and in the middle of long values."""
    frame = spark.range(100).selectExpr("cast(id as int) id", "repeat('x', 100) as text")
    with pytest.raises(AssertionError) as caught:
        assert_table(frame, [], key=["id"])
    first, second, *_, last = str(caught.value).splitlines()
    assert first == "the table is not the 0 expected rows: 100 extra"
    assert second.startswith("extra    id=0, text='xxx")
    assert second.endswith("x…")
    assert len(second) < 100
    assert last == f"and {100 - SHOWN} more"


@pytest.mark.spark
def test_a_missing_column_is_reported(spark: SparkSession) -> None:
    """Whether rows or key name it."""
    frame = spark.range(1)
    with pytest.raises(AssertionError, match="the table lacks the columns nmae: it has id"):
        assert_table(frame, [{"id": 0, "nmae": "a"}], key=["id"])
    with pytest.raises(AssertionError, match="lacks the columns key"):
        assert_table(frame, [{"id": 0}], key=["key"])


@pytest.mark.spark
def test_a_path_is_read(spark: SparkSession, tmp_path: Path) -> None:
    """As a Hudi table, by the active session."""
    (
        spark.range(1)
        .write.format("hudi")
        .option("hoodie.table.name", "t")
        .option("hoodie.datasource.write.recordkey.field", "id")
        .option("hoodie.metadata.enable", "false")
        .option("hoodie.table.timeline.timezone", "UTC")  # else a JVM east of UTC: JvmZoneError hereafter
        .save(str(tmp_path / "t"))
    )
    assert_table(tmp_path / "t", [{"id": 0}], key=["id"])
