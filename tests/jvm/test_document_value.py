"""Values come out of a document as text that Spark can cast."""

import pytest
from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

DOCUMENT = """{"f": 1.0E10, "d": {"$numberDecimal": "1.20E+3"}, "nan": NaN,
 "date": {"$date": 1739455297970}, "yes": true, "large": 1e1000000000}"""


def test_the_texts_can_be_cast(spark: SparkSession) -> None:
    """To what a table declares; null for a number that the type cannot hold."""
    casts = {
        "$.f": "bigint",
        "$.d": "decimal(10,2)",
        "$.date": "timestamp",
        "$.nan": "double",
        "$.yes": "boolean",
        "$.large": "decimal(38,10)",
    }
    frame = spark.createDataFrame([(DOCUMENT,)], "document string")
    value = "ingest_document_value(document, '{}')"
    sql = [f"string(try_cast({value.format(path)} as {type_}))" for path, type_ in casts.items()]

    row = frame.selectExpr(*sql).collect()[0]
    assert list(row) == ["10000000000", "1200.00", "2025-02-13 14:01:37.97", "NaN", "true", None]
