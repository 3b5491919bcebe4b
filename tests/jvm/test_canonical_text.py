"""The functions of canonical texts and checksums, against Spark's own, plain Python and PostgreSQL."""

import hashlib
import random
import struct
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

POSTGRES_HASHES = {
    "": -6939563903564495251,
    "a": 3591986179850072241,
    "ingest äöü €🙂": -8483683806923021822,
    "x" * 11: 1400674333645317569,
    "x" * 12: -2459440608274261628,
    "0123456789" * 20: 5008910198805481877,
}
"""By PostgreSQL 15: `select hashtextextended(text collate "C", 0)`."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
YEAR_1 = (datetime(1, 1, 1, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
YEAR_9999 = (datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)


def test_checksums_are_those_of_databases(spark: SparkSession) -> None:
    """PostgreSQL's hash, and the first 14 digits of MD5 as MySQL, SQL Server and Oracle cut them."""
    df = spark.createDataFrame([(text,) for text in POSTGRES_HASHES], "c string")
    rows = df.selectExpr(
        "c", "ingest_row_postgres_hash('p', c) as hash", "ingest_row_md5_number('p', c) as row_md5",
        "ingest_md5_number(c) as md5",
    ).collect()  # fmt: skip
    assert {row.c: row["hash"] for row in rows} == POSTGRES_HASHES
    md5 = {
        text: int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:14], 16)
        for text in POSTGRES_HASHES
    }
    assert {row.c: row.md5 for row in rows} == {row.c: row.row_md5 for row in rows} == md5


VALUES = {
    "boolean": [True, False],
    "tinyint": [-128, 127],
    "int": [0, -1, 7, -(2**31), 2**31 - 1],
    "bigint": [0, -9, 10, 99, -100, 10**18, -(10**18), 10**18 - 1, -(2**63), 2**63 - 1],
    "decimal(5,2)": ["0.00", "-0.01", "1.10", "-999.99", "12.34"],
    "decimal(18,18)": ["0.000000000000000001", "-0.999999999999999999", "0.000000000000000000"],
    "decimal(18,0)": ["999999999999999999", "-1", "0"],
    "decimal(38,10)": ["0.0000000000", "-0.0000000001", "1234567890123456789012345678.0123456789"],
    "decimal(38,38)": ["0.00000000000000000000000000000000000001"],
    "date": ["0001-01-01", "1969-12-31", "1970-01-01", "2024-02-29", "9999-12-31"],
    "timestamp_ntz": ["0001-01-01 00:00:00", "2024-02-29 23:59:59.12", "9999-12-31 23:59:59.999999"],
}
"""Values by type, as their text."""


def test_a_row_is_its_parts_between_commas(spark: SparkSession) -> None:
    """Each type at its extremes and null; free text with its octets, bytes as hexadecimal."""
    names = [f"c{n}" for n in range(len(VALUES))]
    longest = max(map(len, VALUES.values()))
    literals = [
        ", ".join(
            f"cast({'null' if n >= len(values) else repr(str(values[n]))} as {spark_type})"
            for spark_type, values in VALUES.items()
        )
        for n in range(longest)
    ]
    df = spark.sql(f"select * from values ({'), ('.join(literals)}) as t({', '.join(names)})")
    row = f"ingest_row_text('{'p' * len(names)}', {', '.join(names)})"
    rows = df.repartition(1).selectExpr(f"{row} as row").collect()
    padded = [[*values, *[""] * (longest - len(values))] for values in VALUES.values()]
    assert sorted(row.row for row in rows) == sorted(
        ",".join(str(value).replace("True", "true").replace("False", "false") for value in values)
        for values in zip(*padded, strict=True)
    )
    assert any("-9223372036854775808," in row.row for row in rows)
    mixed = spark.createDataFrame(
        [("a,é", b"\x00\xff", -0.0, "1:x"), (None,) * 4], "t string, b binary, d double, p string"
    )
    texts = mixed.selectExpr(
        "ingest_row_text('fppp', t, b, d, p) as row", "ingest_row_text('ff', t, t) as two"
    )
    assert [tuple(row) for row in texts.collect()] == [
        ("4:a,é,x00ff,0,1:x", "4:a,é,4:a,é"), (",,,", ","),
    ]  # fmt: skip


def test_a_row_longer_than_its_buffer_is_whole(spark: SparkSession) -> None:
    """The buffer grows, and keeps its content."""
    rows = spark.sql("select ingest_row_text('fpp', repeat('é', 5000), 7, repeat('x', 3)) as row")
    assert [row.row for row in rows.collect()] == [f"10000:{'é' * 5000},7,xxx"]


def test_timestamps_read_as_spark_writes_them(spark: SparkSession) -> None:
    """Every kind of day and fraction of the years 1 to 9999; a count beyond them."""
    choose = random.Random(3)  # noqa: S311  no secret
    counts = [YEAR_1, YEAR_1 + 1, YEAR_9999, YEAR_9999 - 1, 0, -1, 1, 10, 1_000_000]
    counts += [choose.randint(YEAR_1, YEAR_9999) for _ in range(2_000)]
    counts += [choose.randint(-(10**6), 10**6) * 86_400_000_000 // 10 for _ in range(2_000)]
    counts = [count for count in counts if YEAR_1 <= count <= YEAR_9999]
    df = spark.createDataFrame([(count,) for count in counts], "c bigint").selectExpr(
        "timestamp_micros(c) as utc", "cast(timestamp_micros(c) as timestamp_ntz) as wall"
    )
    differing = df.where(
        "ingest_utc(utc) is distinct from cast(utc as string) "
        "or ingest_timestamp(wall) is distinct from cast(wall as string)"
    )
    assert differing.collect() == []
    beyond = spark.sql(f"select ingest_utc(timestamp_micros({YEAR_9999 + 1}L)) as text").first()
    assert beyond is not None
    assert beyond.text == str(YEAR_9999 + 1)


def test_floating_point_reads_as_its_bits(spark: SparkSession) -> None:
    """Negative zero is zero; the last bit counts; null stays null."""
    numbers = [0.1, 0.10000000000000002, -2.5, 1e300, float("inf"), float("-inf"), 5e-324]
    df = spark.createDataFrame([(number,) for number in [*numbers, -0.0, None]], "c double")
    rows = df.selectExpr("ingest_double_bits(c) as bits").collect()
    expected = [str(struct.unpack(">q", struct.pack(">d", number))[0]) for number in numbers]
    assert [row.bits for row in rows] == [*expected, "0", None]
    narrow = spark.sql(
        "select ingest_float_bits(cast(1.5 as float)) as a, ingest_float_bits(-cast(0 as float)) as b"
    )
    assert [tuple(row) for row in narrow.collect()] == [("1069547520", "0")]
