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
    rows = df.selectExpr("c", "ingest_postgres_hash(c) as hash", "ingest_md5_number(c) as md5").collect()
    assert {row.c: row["hash"] for row in rows} == POSTGRES_HASHES
    assert {row.c: row.md5 for row in rows} == {
        text: int(hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()[:14], 16)
        for text in POSTGRES_HASHES
    }


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
