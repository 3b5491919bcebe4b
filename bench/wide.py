"""Plan and explain tables of 2,000 columns in every form, and of 1,000 schemas."""

import sys
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.decode.diagnosis import explain
from ingest.decode.events import decode_events
from ingest.jars.artifacts import spark_jars
from ingest.spark.session import start_session

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.decode.wide import FORMS, Wide

COLUMNS = 2_000
FEWER = {"avro, ten deep": 200, "avro, schemas": 1_000}
"""200 columns of ten levels each are 2,000 structs."""
MESSAGE = "partition int, offset bigint, key binary, value binary"


def widest_seconds() -> float:
    """Return the seconds of the slowest form, to decode a record and to explain a rejected one."""
    spark = start_session("bench", "local[2]", {"spark.driver.memory": "2g"}, spark_jars())
    return max(_seconds(spark, form) for form in FORMS)


def _seconds(spark: SparkSession, form: str) -> float:
    wide = FORMS[form](FEWER.get(form, COLUMNS))
    messages = _messages(spark, wide)
    started = time.monotonic()
    rejected = [row.rejected for row in decode_events(messages, wide.compiled).select("rejected").collect()]
    decode_events(messages, wide.compiled).write.format("noop").mode("overwrite").save()
    decoded = time.monotonic()
    rows = explain(messages.where("offset = 1"), wide.compiled).where("reason = 'conversion'").collect()
    explained = time.monotonic()
    assert rejected == [False, True]
    assert len(rows) == 1
    print(
        f"   {form}: decoded in {decoded - started:.1f} s, explained in {explained - decoded:.1f} s",
        flush=True,
    )
    return explained - started


def _messages(spark: SparkSession, wide: Wide) -> DataFrame:
    pairs = enumerate((wide.whole, wide.rejected))
    rows = [(0, n, key and bytearray(key), bytearray(value or b"")) for n, (key, value) in pairs]
    headers = F.lit(None).cast("array<struct<key:string,value:binary>>")
    return spark.createDataFrame(rows, MESSAGE).withColumn("headers", headers)
