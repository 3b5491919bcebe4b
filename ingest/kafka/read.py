"""Read exactly the offsets of a plan: as a DataFrame, or one record to look at."""

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ingest.kafka.properties import spark_properties
from ingest.kafka.ranges import TopicRanges
from ingest.lazy import LazyModule
from ingest.settings import KafkaSettings

if TYPE_CHECKING:
    from pyspark import sql as pyspark_sql
    from pyspark.sql import DataFrame, SparkSession

    from ingest.spark import java
else:
    pyspark_sql, java = LazyModule("pyspark.sql"), LazyModule("ingest.spark.java")

COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value")

OFFSETS_PER_TASK: Final = 10_000
"""Offsets that make a task of its own worth it.

Measured: one more task costs about 50 ms (a consumer connects and seeks); 10,000 records take 100 ms to
read and some 250 ms to decode.  Below this, cutting a partition costs what it saves, and so does a shuffle:
one task reads, reduces and counts all partitions of a topic.
"""

PROMPT: Final = {
    # With each batch that it hands out the client asks for the next one, and Spark then asks, on the same
    # connection, where the topic begins and ends: at the end of a topic the broker answers that only after
    # it has waited this long for messages to come (500 ms by default), and all that a run reads is there.
    "kafka.fetch.max.wait.ms": "5",
    # Spark seeks before each batch, and so drops what was fetched but not handed out.
    "kafka.max.poll.records": "100000",  # 500
    "kafka.max.partition.fetch.bytes": str(4 << 20),  # 1 MiB
    "kafka.receive.buffer.bytes": "-1",  # 64 KiB; -1: what the system finds out
}
"""Of the Java client, where the user's properties say nothing else.

Measured with a broker on loopback: 200,000 records of 470 bytes take 0.3 s in place of 0.95 s by the client's
own defaults.
"""

MOST_BYTES: Final = 64 << 20
"""The largest record that is read where no table file says more."""

_SALT: Final = uuid4()
"""Keeps the digest of a password useless to others."""


def count_slices(ranges: TopicRanges, cores: int) -> int:
    """Choose `min_partitions`: all cores for a large range, even of one partition, else no split."""
    return max(1, min(cores, ranges.span // OFFSETS_PER_TASK))


def read(
    spark: "SparkSession",
    ranges: TopicRanges,
    kafka: KafkaSettings,
    *,
    min_partitions: int,
    headers: bool = False,
    most_bytes: int = MOST_BYTES,
) -> "DataFrame":
    """Return the committed records of these ranges, `COLUMNS` only; nothing is read before an action.

    `headers` adds a column of that name: an array of `key, value`, null for records without headers.

    A record of more than `most_bytes` keeps its key at most; its value is the mark of `ingest.decode.large`.

    Spark cuts the ranges into at least `min_partitions` tasks.  A record that is deleted
    before its task starts fails the query: it must not pass for an empty range.
    """
    properties = {
        **PROMPT,
        **spark_properties(kafka.properties),
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        # Kafka's default, read_uncommitted, returns the records of aborted transactions.
        "kafka.isolation.level": "read_committed",
    }
    of_client = json.dumps({name.removeprefix("kafka."): properties[name] for name in sorted(properties)})
    rows = java.jvm_of(spark).io.hudicdc.ingest.KafkaRows.of(
        java.java_session(spark),
        ranges.topic,
        json.dumps([[part.partition, part.start, part.end] for part in ranges.ranges]),
        of_client,
        _group(ranges, of_client),
        min_partitions,
        round(kafka.read_timeout_s * 1000),
        headers,
        most_bytes,
    )
    return pyspark_sql.DataFrame(rows, spark)


def _group(ranges: TopicRanges, properties: str) -> str:
    """Return the consumer group under which Spark keeps consumers, and records that they have fetched ahead.

    Spark refuses other properties under the same group (InternalKafkaConsumerPool).  A topic that was created
    again has another id; where the broker has no ids, nothing is kept.
    """
    if not ranges.topic_id:
        return f"ingest-{uuid4()}"
    text = f"{_SALT} {ranges.topic} {ranges.topic_id} {properties}"
    return f"ingest-{sha256(text.encode()).hexdigest()[:16]}"
