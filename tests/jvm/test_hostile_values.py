"""Values that ask for more memory or time than any source's: refused at once, by our functions on the JVM."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

HUGE = 1_000_000_000


def value(spark: SparkSession, sql: str, *arguments: Any) -> Any:
    """Let Spark compute a function of arguments that it cannot fold away."""
    df = spark.createDataFrame([arguments]).repartition(1)
    return df.selectExpr(sql).collect()[0][0]


@pytest.mark.parametrize("scale", [HUGE, -HUGE, 2**31 - 1, -(2**31), 16_384, -1_001])
def test_a_number_of_hostile_scale_is_null(spark: SparkSession, scale: int) -> None:
    """In plain notation it would have as many digits."""
    assert value(spark, "ingest_plain_decimal(cast(_1 as int), _2)", scale, bytearray(b"\x01")) is None


def test_a_number_of_hostile_length_is_null(spark: SparkSession) -> None:
    """Java takes time with the square of its length to write it."""
    assert value(spark, "ingest_plain_decimal(0, _1)", bytearray(b"\x7f" * 61_231)) is None
    assert len(value(spark, "ingest_plain_decimal(16383, _1)", bytearray(b"\x7f" * 1_000))) > 16_383


KEYS = {
    '{"$numberDecimal": "0E+1000000000"}': "0",
    '{"$numberDecimal": "0E-1000000000"}': "0",
    "0e1000000000": "0",
    '{"$numberDecimal": "1E+1000000000"}': '{"$numberDecimal":"1E+1000000000"}',
    "1e1000000000": '{"$numberDecimal":"1E+1000000000"}',
    "1e-1000000000": "0",
    json.dumps({"$numberDecimal": "9" * 20_000}): json.dumps(
        {"$numberDecimal": "9" * 20_000}, separators=(",", ":")
    ),
}


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key[:40])
def test_a_documents_key_of_hostile_exponent_is_short(spark: SparkSession, key: str) -> None:
    """Equal numbers have one spelling; one that MongoDB does not have keeps its own."""
    assert value(spark, "ingest_document_key(_1)", key) == KEYS[key]


def test_a_documents_value_of_hostile_exponent_is_its_text(spark: SparkSession) -> None:
    """Casts to numbers make null of it."""
    document = '{"n": {"$numberDecimal": "1E+1000000000"}, "m": 1e1000000000}'
    assert value(spark, "ingest_document_value(_1, '$.n')", document) == "1E+1000000000"
    assert value(spark, "try_cast(ingest_document_value(_1, '$.m') as decimal(38,10))", document) is None


def test_updates_cannot_pad_arrays_without_bound(spark: SparkSession) -> None:
    """All paths of an update share MongoDB's own limit; a path of thousands of steps is not an update."""
    document = json.dumps({f"a{n}": [] for n in range(40)})
    updates = json.dumps({f"a{n}.1000000": 1 for n in range(40)})
    update = "ingest_document_update(_1, _2, null, null)"
    padded = value(spark, update, document, updates)
    assert len(padded) < 20_000_000
    assert value(spark, update, document, json.dumps({"." * 1_000_000: 1})) is None
