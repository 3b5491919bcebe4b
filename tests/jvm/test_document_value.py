"""Values come out of a document as text that Spark can cast."""

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCUMENT = """{"_id": {"$oid": "65f0c0de00000000000003e8"}, "n": 5, "f": 1.0E10,
 "big": {"$numberLong": "5000001009"},
 "d": {"$numberDecimal": "1.20E+3"}, "x": {"$numberDouble": "1.5"}, "i": {"$numberInt": "7"}, "nan": NaN,
 "inf": -Infinity, "date": {"$date": 1739455297970}, "iso": {"$date": "2025-02-13T14:01:37.97Z"},
 "old": {"$date": {"$numberLong": "-62135596800001"}}, "b1": {"$binary": "AQI=", "$type": "04"},
 "b2": {"$binary": {"base64": "AQI=", "subType": "04"}}, "t": {"$timestamp": {"t": 1700000000, "i": 2}},
 "r1": {"$regex": "^a.*", "$options": "i"}, "r2": {"$regularExpression": {"pattern": "^a.*", "options": "i"}},
 "s": "quote\\"中\\ud83d\\ude42", "yes": true, "no": null,
 "un": {"$undefined": true}, "sym": {"$symbol": "q"},
 "min": {"$minKey": 1}, "a b": {"c.d": [1, {"e": "deep"}]}, "arr": [1, "660", null, [2, 3]], "": 1,
 "o": {"x": 7, "when": {"$date": 0}, "y": "é"}, "e": {}}"""

VALUES = {
    "$._id": "65f0c0de00000000000003e8",
    "$.n": "5",
    "$.f": "10000000000",
    "$.big": "5000001009",
    "$.d": "1200",
    "$.x": "1.5",
    "$.i": "7",
    "$.nan": "NaN",
    "$.inf": "-Infinity",
    "$.date": "2025-02-13T14:01:37.970Z",
    "$.iso": "2025-02-13T14:01:37.970Z",
    "$.old": "0000-12-31T23:59:59.999Z",
    "$.b1": "AQI=",
    "$.b2": "AQI=",
    "$.t": "1700000000",
    "$.r1": "^a.*",
    "$.r2": "^a.*",
    "$.s": 'quote"中🙂',
    "$.yes": "true",
    "$.no": None,
    "$.un": None,
    "$.sym": "q",
    "$.min": '{"$minKey":1}',
    "$['a b']['c.d'][1].e": "deep",
    "$['']": "1",
    "$.arr": '[1,"660",null,[2,3]]',
    "$.arr[0]": "1",
    "$.arr[1]": "660",
    "$.arr[2]": None,
    "$.arr[3][1]": "3",
    "$.arr[4]": None,
    "$.arr.x": None,
    "$.o": '{"x":7,"when":{"$date":0},"y":"é"}',
    "$.o.when": "1970-01-01T00:00:00.000Z",
    "$.o.x": "7",
    "$.o[0]": None,
    "$.e": "{}",
    "$.n.deeper": None,
    "$.absent": None,
}


def test_values_lose_their_wrappers(spark: SparkSession) -> None:
    """In every spelling; objects and arrays stay JSON, as they are stored."""
    frame = spark.createDataFrame([(DOCUMENT, path) for path in VALUES], "document string, path string")
    result = frame.selectExpr("path", "ingest_document_value(document, path)").collect()

    assert {row[0]: row[1] for row in result} == VALUES


def test_the_texts_can_be_cast(spark: SparkSession) -> None:
    """To what a table declares."""
    casts = {
        "$.f": "bigint",
        "$.d": "decimal(10,2)",
        "$.date": "timestamp",
        "$.nan": "double",
        "$.yes": "boolean",
    }
    frame = spark.createDataFrame([(DOCUMENT,)], "document string")
    sql = [
        f"string(cast(ingest_document_value(document, '{path}') as {type_}))" for path, type_ in casts.items()
    ]

    row = frame.selectExpr(*sql).collect()[0]
    assert list(row) == ["10000000000", "1200.00", "2025-02-13 14:01:37.97", "NaN", "true"]


def test_no_json_has_no_values(spark: SparkSession) -> None:
    """The caller tests for null."""
    rows = [(None,), ("",), ("{",), ('{"a":1} x',), ("[1",)]
    frame = spark.createDataFrame(rows, "document string")

    assert {row[0] for row in frame.selectExpr("ingest_document_value(document, '$.a')").collect()} == {None}


@pytest.mark.parametrize("path", ["a", "", "$.", "$.a[x]", "$a", "$.a..b", "$['a]", "$.a]"])
def test_a_path_that_cannot_be_read_fails(spark: SparkSession, path: str) -> None:
    """A wrong path is a mistake of a table file, not a column of nulls."""
    frame = spark.createDataFrame([('{"a":1}', path)], "document string, path string")

    with pytest.raises(Exception, match=r"not a path such as") as failed:
        frame.selectExpr("ingest_document_value(document, path)").collect()
    assert path in str(failed.value)
