"""Read exactly the offsets of a plan: as a DataFrame, or one record to look at."""

import json
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from ingest.kafka.properties import spark_properties
from ingest.kafka.ranges import TopicRanges
from ingest.settings import KafkaSettings
from ingest.spark import java
from ingest.sql.template import binary, sql

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value")

OFFSETS_PER_TASK: Final = 10_000
"""Offsets that make a separate task worth it.

Measured: one more task costs about 50 ms (a consumer connects and seeks).  Reading 10,000 records takes 100
ms, and decoding them some 250 ms.  Below this number, cutting a partition costs as much as it saves, and so
does a shuffle: one task reads, reduces and counts all partitions of a topic.
"""

MOST_OFFSETS_PER_TASK: Final = 250_000
"""Offsets of a task of a large range, a few seconds of a core.

Spark gives a core to another table only when a task ends: with one task a core, a load of 3,000,000 messages
made the changes of 60 other tables 63 s old (median, `--follow`), with these 47 s.  It took no longer.
"""
_MOST_TASKS_PER_CORE: Final = 50
"""A bound for compacted topics, in which most offsets have no message."""

PROMPT: Final = {
    # With each batch that it hands out the client asks for the next one.  Spark then asks on the same
    # connection for the begin and end of the topic.  At the end of a topic the broker answers that only after
    # it has waited this long for messages to come (500 ms by default), and all that a run reads is there.
    "kafka.fetch.max.wait.ms": "5",
    # Spark seeks before each batch, and so drops what was fetched but not handed out.
    "kafka.max.poll.records": "100000",  # 500
    "kafka.max.partition.fetch.bytes": str(4 << 20),  # 1 MiB
    "kafka.receive.buffer.bytes": "-1",  # by default 64 KiB, and -1 lets the system choose
}
"""Properties of the Java client, unless the user's properties override them.

Measured with a broker on loopback: 200,000 records of 470 bytes take 0.3 s in place of 0.95 s with the
client's defaults.
"""

LARGE_MARK: Final = b"\xffingest: too large: "
"""The value of a record that is too large, with its size behind.

0xFF is neither Confluent's magic byte nor UTF-8.  The JVM's class LargeRecord has the same bytes.
"""
MOST_KEY_BYTES: Final = 1 << 16
"""The largest key that is kept of such a record."""
MOST_BYTES: Final = 64 << 20
"""The largest record that is read if no table file allows a larger one."""

_SALT: Final = uuid4()
"""Keeps the digest of a password useless to others."""


def count_slices(ranges: TopicRanges, cores: int) -> int:
    """Choose `min_partitions`: all cores for a large range, even of one partition, else no split.

    Spark cuts the longest partitions of a range, and only into more tasks than the range has partitions.
    """
    for_all_cores = min(cores, ranges.span // OFFSETS_PER_TASK)
    tasks = max(1, for_all_cores, min(_MOST_TASKS_PER_CORE * cores, ranges.span // MOST_OFFSETS_PER_TASK))
    if tasks == 1:
        return 1
    spans = [part.end - part.start for part in ranges.ranges if part.end > part.start]
    return max(tasks, sum(max(1, round(tasks * span / ranges.span)) for span in spans))


def read(
    spark: "SparkSession",
    ranges: TopicRanges,
    kafka: KafkaSettings,
    *,
    min_partitions: int,
    headers: bool = False,
    most_bytes: int = MOST_BYTES,
) -> "DataFrame":
    """Return the committed records of these ranges, `COLUMNS` only.  An action starts the reading.

    `headers` adds a column of that name: an array of `key, value`, null for records without headers.

    A record of more than `most_bytes` keeps its key at most.  Its value is `LARGE_MARK` and its size.

    Spark cuts the ranges into at least `min_partitions` tasks.  A record that is deleted before its task
    starts fails the query: it must not pass for an empty range.
    """
    properties = {
        **PROMPT,
        **spark_properties(kafka.properties),
        "kafka.bootstrap.servers": kafka.bootstrap_servers,
        # Kafka's default, read_uncommitted, returns the records of aborted transactions.
        "kafka.isolation.level": "read_committed",
    }
    timeout_ms = round(kafka.read_timeout_s * 1000)
    if not java.uses_internals(spark):
        rows = _read_by_source(spark, ranges, properties, min_partitions, timeout_ms)
        bounded = _bounded(rows, most_bytes)
        return bounded if headers else bounded.drop("headers")
    of_client = json.dumps({name.removeprefix("kafka."): properties[name] for name in sorted(properties)})
    java_rows = java.jvm_of(spark).io.hudicdc.ingest.spark.KafkaRows.of(
        java.java_session(spark),
        ranges.topic,
        json.dumps([[part.partition, part.start, part.end] for part in ranges.ranges]),
        of_client,
        _group(ranges, of_client),
        min_partitions,
        timeout_ms,
        headers,
        most_bytes,
    )
    return java.frame_of(spark, java_rows)


def _read_by_source(
    spark: "SparkSession",
    ranges: TopicRanges,
    properties: Mapping[str, str],
    min_partitions: int,
    timeout_ms: int,
) -> "DataFrame":
    """Return the records with their headers, by Spark's own source."""
    options = {
        **properties,
        # By partition: `subscribe` also takes one that was added meanwhile, which has no start offset.
        "assign": json.dumps({ranges.topic: [part.partition for part in ranges.ranges]}),
        "startingOffsets": json.dumps({ranges.topic: ranges.start_offsets()}),
        "endingOffsets": json.dumps({ranges.topic: ranges.end_offsets()}),
        # false skips expired offsets without an error, and the rows with them (SPARK-18373).
        "failOnDataLoss": "true",
        "minPartitions": str(min_partitions),
        "includeHeaders": "true",
        "groupIdPrefix": "ingest",
        "kafkaConsumer.pollTimeoutMs": str(timeout_ms),
    }
    return spark.read.format("kafka").options(**options).load()


def _bounded(rows: "DataFrame", most_bytes: int) -> "DataFrame":
    """Replace the value of each record that is too large, as the JVM's class KafkaRows does."""
    size = sql(
        "ifnull(octet_length(key), 0) + ifnull(octet_length(value), 0) + ifnull(aggregate(headers, 0L, "
        "(total, header) -> total + ifnull(octet_length(header.value), 0)), 0L)"
    )
    is_large = sql("{size} > {most}", size=size, most=most_bytes)
    mark = sql("{mark} || cast(cast({size} as string) as binary)", mark=binary(LARGE_MARK), size=size)
    bounded = {
        "key": sql(
            "if({large} and octet_length(key) > {most}, null, key)", large=is_large, most=MOST_KEY_BYTES
        ),
        "value": sql("if({large}, {mark}, value)", large=is_large, mark=mark),
        "headers": sql("if({large}, null, headers)", large=is_large),
    }
    whole = ("partition", "offset", "timestamp")
    return rows.selectExpr(*whole, *(str(value.alias(name)) for name, value in bounded.items()))


def _group(ranges: TopicRanges, properties: str) -> str:
    """Return the consumer group under which Spark keeps consumers, and records that they have fetched ahead.

    Spark refuses other properties under the same group (InternalKafkaConsumerPool).  A topic that was created
    again has another id.  Without an id, every call gets a new group, so that nothing is kept.
    """
    if not ranges.topic_id:
        return f"ingest-{uuid4()}"
    text = f"{_SALT} {ranges.topic} {ranges.topic_id} {properties}"
    return f"ingest-{sha256(text.encode()).hexdigest()[:16]}"
