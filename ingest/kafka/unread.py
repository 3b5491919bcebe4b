"""The age of the oldest message that a table has not read."""

import time

from confluent_kafka import Consumer, TopicPartition

from ingest.kafka.connection import Connection
from ingest.kafka.ranges import TopicRanges
from ingest.kafka.sample import ONE_BY_ONE, PER_END, read_first
from ingest.settings import KafkaSettings


def unread_s(kafka: KafkaSettings, ranges: TopicRanges) -> float | None:
    """Return the seconds since the timestamp of the oldest committed message in ranges, 0 without messages.

    Return None if that message has no timestamp.  Raises BrokerUnreachableError.
    """
    if ranges.is_empty:
        return 0.0
    connection = Connection.within(kafka)
    consumer = connection.open(Consumer, **ONE_BY_ONE)
    try:
        firsts = [
            record
            for part in ranges.ranges
            for record in read_first(
                consumer,
                connection,
                TopicPartition(ranges.topic, part.partition, part.start),
                part.end,
                PER_END,
            )[:1]
        ]
    finally:
        consumer.close()
    times = [record.timestamp_ms for record in firsts if record.timestamp_ms is not None]
    if len(times) < len(firsts):
        return None
    return round(max(0.0, time.time() - min(times) / 1000), 1) if times else 0.0
