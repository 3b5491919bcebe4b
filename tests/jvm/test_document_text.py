"""The function of comparable documents: one text for equal values, another one for each difference."""

import json

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

EQUAL = [
    (
        '{"a": 5, "b": {"c": [1, null, true], "d": "x"}}',
        '{"b":{"d":"x","c":[1.0,null,true]},"a":{"$numberLong":"5"}}',
    ),
    ('{"n": {"$numberDecimal": "5.00"}}', '{"n": {"$numberDouble": "5.0"}}'),
    ('{"t": {"$date": 1704067200000}}', '{"t": {"$date": {"$numberLong": "1704067200000"}}}'),
    ('{"t": {"$date": -1}}', '{"t": {"$date": {"$numberLong": "-1"}}}'),
    ('{"b": {"$binary": "AAE=", "$type": "00"}}', '{"b": {"$binary": {"base64": "AAE=", "subType": "00"}}}'),
    (
        '{"r": {"$regex": "^a", "$options": "i"}}',
        '{"r": {"$regularExpression": {"pattern": "^a", "options": "i"}}}',
    ),
    ('{"i": {"$oid": "5F43A1B2C3D4E5F60718293A"}}', '{"i": {"$oid": "5f43a1b2c3d4e5f60718293a"}}'),
    ('{"n": NaN, "i": -Infinity}', '{"i": {"$numberDouble": "-Infinity"}, "n": {"$numberDouble": "NaN"}}'),
    ('{"z": -0.0}', '{"z": 0}'),
    ('{"s": {"$symbol": "x"}, "u": {"$undefined": true}}', '{"s": "x", "u": null}'),
]
"""Spellings of one document."""
DIFFERENT = [
    ('{"a": 5}', '{"a": "5"}'),
    ('{"a": null}', "{}"),
    ('{"a": ""}', '{"a": null}'),
    ('{"a": [1, 2]}', '{"a": [2, 1]}'),
    ('{"a": 0.1}', '{"a": {"$numberDecimal": "0.1"}}'),
    ('{"a": 0.1}', '{"a": 0.10000000000000002}'),
    ('{"a": {"$numberLong": "9007199254740993"}}', '{"a": 9007199254740992}'),
    ('{"t": {"$date": 1704067200000}}', '{"t": {"$date": 1704067200001}}'),
    ('{"t": {"$timestamp": {"t": 1, "i": 2}}}', '{"t": {"$timestamp": {"t": 1, "i": 3}}}'),
    ('{"b": {"$binary": "AAE=", "$type": "00"}}', '{"b": {"$binary": "AAE=", "$type": "04"}}'),
    ('{"a": true}', '{"a": 1}'),
    ('{"a": "x "}', '{"a": "x"}'),
    ('{"a": {"b": 1}}', '{"a.b": 1}'),
]


def test_equal_documents_have_one_text(spark: SparkSession) -> None:
    """Numbers by value, names in order, wrappers in one spelling; a difference stays one."""
    df = spark.createDataFrame(EQUAL + DIFFERENT, "a string, b string")
    rows = df.selectExpr("a", "b", "ingest_document_text(a) as x", "ingest_document_text(b) as y").collect()
    assert [(row.a, row.b) for row in rows if row.x == row.y] == EQUAL
    assert all(json.loads(text) is not None for row in rows for text in (row.x, row.y))


def test_a_text_that_is_not_json_is_null(spark: SparkSession) -> None:
    """It then differs from every document."""
    rows = spark.sql(
        "select ingest_document_text('{\"a\": ') as a, ingest_document_text(null) as b"
    ).collect()
    assert [tuple(row) for row in rows] == [(None, None)]
