"""A few records of a topic: the first and the last ones of each range."""

from collections.abc import Mapping
from typing import Final, cast

import attrs
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from ingest.kafka.connection import Connection
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings

ONE_BY_ONE: Final = {
    "group_id": "ingest",  # librdkafka requires a group, but this one never has commits
    "enable_auto_commit": False,
    "enable_partition_eof": True,
    "auto_offset_reset": "error",  # an expired offset must not become another record
    "isolation_level": "read_committed",
    "queued_min_messages": 1,  # no reading ahead
    "fetch_wait_max_ms": 5,  # learn soon that nothing follows
    "fetch_queue_backoff_ms": 0,  # by default the next read waits up to 1 s after a full queue
}


@attrs.frozen
class RawRecord:
    """One record of a topic.  `timestamp_ms` counts from 1970 in UTC, and is None without a timestamp."""

    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]
    timestamp_ms: int | None


def raw_record(message: Message) -> RawRecord:
    """Return a message as a record."""
    _, timestamp_ms = message.timestamp()
    headers = cast("list[tuple[str, bytes | None]] | None", message.headers())
    return RawRecord(
        key=message.key(),
        value=message.value(),
        headers=tuple(headers or ()),
        timestamp_ms=None if timestamp_ms < 0 else timestamp_ms,
    )


PER_END: Final = 5
"""Records to fetch from each end of a partition's range: the last one may be a tombstone."""

_POLL_S: Final = 0.1
_END: Final = "_PARTITION_EOF"
_TOO_LARGE: Final = "_BAD_COMPRESSION"


def sample(
    kafka: KafkaSettings,
    topic: Topic,
    ranges: Mapping[Partition, tuple[int, int]],
    *,
    per_end: int = PER_END,
) -> tuple[RawRecord, ...]:
    """Fetch the first committed records of each range, then the last of the others.  An end is exclusive.

    Raises BrokerUnreachableError when the broker does not answer in time.
    """
    connection = Connection.within(kafka, kafka.read_timeout_s)
    consumer = connection.open(Consumer, **ONE_BY_ONE)
    try:
        spans = [(TopicPartition(topic, p, begin), end) for p, (begin, end) in ranges.items()]
        lasts = [
            (TopicPartition(topic, start.partition, max(start.offset + per_end, end - per_end)), end)
            for start, end in spans
        ]
        samples = [read_first(consumer, connection, start, end, per_end) for start, end in (*spans, *lasts)]
    finally:
        consumer.close()
    return tuple(record for records in samples for record in records)


def read_first(
    consumer: Consumer, connection: Connection, start: TopicPartition, end: int, limit: int
) -> tuple[RawRecord, ...]:
    """Read up to `limit` records from an offset, within the range.

    librdkafka stays forever at a batch that it does not expand, for its size: up to `limit` are skipped.
    """
    records: list[RawRecord] = []
    position, skipped = start.offset, 0
    if position < end:
        consumer.assign([start])
    # At `end` itself the broker would wait for more records before it reports the end.
    while position < end and len(records) < limit and skipped < limit:
        message = _next(consumer, connection)
        if message.error() is None:
            position = (message.offset() or 0) + 1
            if position > end:
                break
            records.append(raw_record(message))
        elif _names(message, _TOO_LARGE):
            position, skipped = position + 1, skipped + 1
            consumer.assign([TopicPartition(start.topic, start.partition, position)])
        else:
            break
    return tuple(records)


def _next(consumer: Consumer, connection: Connection) -> Message:
    """Return the next record, the end of the partition, or a batch that is not expanded."""
    while True:
        message = consumer.poll(_POLL_S)
        connection.raise_refused()
        if connection.is_over():
            raise connection.unreachable()
        if message is not None and (message.error() is None or _names(message, _END, _TOO_LARGE)):
            return message


def _names(message: Message, *names: str) -> bool:
    error: KafkaError | None = message.error()
    return error is not None and error.name() in names
