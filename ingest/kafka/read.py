"""Read exactly the offsets of a plan: as a DataFrame, or one record to look at."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, cast

import attrs
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ingest.kafka.connection import Connection
from ingest.kafka.properties import spark_properties
from ingest.kafka.ranges import TopicRanges
from ingest.names import Partition, Topic

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COLUMNS: Final = ("partition", "offset", "timestamp", "key", "value")

OFFSETS_PER_TASK: Final = 10_000
"""Offsets that make a task of its own worth it.

Measured: one more task costs about 50 ms (a consumer connects and seeks); 10,000 records take 100 ms to
read and some 250 ms to decode.  Below this, cutting a partition costs what it saves.
"""

POLL_TIMEOUT_MS: Final = 60_000
"""How long a task waits for a record that must be there; Spark's own default is 120 s."""

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

RECORD_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.1


ONE_BY_ONE: Final = {
    "group_id": "ingest",  # librdkafka wants one; nothing is ever committed to it
    "enable_auto_commit": False,
    "enable_partition_eof": True,
    "auto_offset_reset": "error",
    "isolation_level": "read_committed",
    "queued_min_messages": 1,  # no reading ahead
    "fetch_wait_max_ms": 5,  # to hear soon that nothing follows
}
_NO_RECORD: Final = frozenset({"_PARTITION_EOF", "_AUTO_OFFSET_RESET", "OFFSET_OUT_OF_RANGE"})


@attrs.frozen
class RawRecord:
    """One record as it lies in the topic; `timestamp_ms` since 1970 in UTC, None when it has none."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None


def count_slices(ranges: TopicRanges, cores: int) -> int:
    """Choose `min_partitions`: all cores for a large range, even of one partition, else no split."""
    return max(1, min(cores, ranges.span // OFFSETS_PER_TASK))


def read(
    spark: "SparkSession",
    ranges: TopicRanges,
    bootstrap_servers: str,
    properties: Mapping[str, str],
    *,
    min_partitions: int,
    headers: bool = False,
) -> "DataFrame":
    """Give the committed records of these ranges, `COLUMNS` only; nothing is read before an action.

    With `headers` there is a column of that name too: an array of `key, value`, null where there are none.

    Spark cuts the ranges into at least `min_partitions` tasks.  A record that is gone when its task comes
    fails the query: `plan_ranges` has seen it, so its loss in between must not pass for an empty range.
    """
    options = {
        **PROMPT,
        **spark_properties(properties),
        "kafka.bootstrap.servers": bootstrap_servers,
        "kafka.isolation.level": "read_committed",
        "assign": json.dumps({ranges.topic: [one.partition for one in ranges.ranges]}),
        "startingOffsets": json.dumps({ranges.topic: ranges.start_offsets()}),
        "endingOffsets": json.dumps({ranges.topic: ranges.end_offsets()}),
        "failOnDataLoss": "true",
        "minPartitions": str(min_partitions),
        "includeHeaders": str(headers).lower(),
        "kafkaConsumer.pollTimeoutMs": str(POLL_TIMEOUT_MS),
    }
    columns = (*COLUMNS, "headers") if headers else COLUMNS
    return spark.read.format("kafka").options(**options).load().select(*columns)


def fetch_record(
    bootstrap_servers: str,
    properties: Mapping[str, str],
    topic: Topic,
    partition: Partition,
    offset: int,
    *,
    timeout_s: float = RECORD_TIMEOUT_S,
) -> RawRecord | None:
    """Fetch the one committed record at this place; None when there is none (any more)."""
    connection = Connection.within(bootstrap_servers, properties, timeout_s)
    consumer = connection.open(Consumer, **ONE_BY_ONE)
    try:
        consumer.assign([TopicPartition(topic, partition, offset)])
        message = _next_message(consumer, connection)
    finally:
        consumer.close()
    if message is None or message.offset() != offset:
        return None
    return raw_record(message)


def raw_record(message: Message) -> RawRecord:
    """Take what a message holds."""
    _, timestamp_ms = message.timestamp()
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    return RawRecord(
        key=message.key(),
        value=message.value(),
        headers=tuple(headers or ()),
        timestamp_ms=None if timestamp_ms < 0 else timestamp_ms,
    )


def _next_message(consumer: Consumer, connection: Connection) -> Message | None:
    """Give the next message, None when the partition holds none from here on."""
    while not connection.is_over():
        message = consumer.poll(_POLL_S)
        connection.raise_refused()
        error: KafkaError | None = message.error() if message is not None else None
        if error is not None and error.name() in _NO_RECORD:
            return None
        if message is not None and error is None:
            return message
    raise connection.unreachable()
