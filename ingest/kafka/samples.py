"""A few records of many topics, read by one consumer: as `sample` reads those of one topic."""

from collections.abc import Collection, Mapping
from typing import Final

import attrs
from confluent_kafka import Consumer, Message, TopicPartition

from ingest.kafka.connection import Connection
from ingest.kafka.sample import ONE_BY_ONE, PER_END, RawRecord, raw_record
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings

_POLL_S: Final = 0.1
_MESSAGES: Final = 500
_TOO_LARGE: Final = "_BAD_COMPRESSION"


@attrs.define(eq=False)
class _Reading:
    """Reads up to `limit` records of a partition, from `position` up to `end`."""

    topic: Topic
    partition: Partition
    position: int
    end: int
    limit: int
    records: list[RawRecord] = attrs.Factory(list)
    skipped: int = 0
    failed: bool = False

    @property
    def place(self) -> TopicPartition:
        """The next record to read."""
        return TopicPartition(self.topic, self.partition, self.position)

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to read."""
        return self.position >= self.end or self.limit in (len(self.records), self.skipped)

    def take(self, message: Message) -> None:
        """Take a record, or note why there is none: the end, a batch that is not expanded, an error."""
        error = message.error()
        if error is None:
            self.position = (message.offset() or 0) + 1
            if self.position <= self.end:
                self.records.append(raw_record(message))
        elif error.name() == _TOO_LARGE:
            self.position, self.skipped = self.position + 1, self.skipped + 1
        else:
            self.failed = error.name() != "_PARTITION_EOF"
            self.position = self.end


def sample_topics(
    kafka: KafkaSettings,
    ranges: Mapping[Topic, Mapping[Partition, tuple[int, int]]],
    *,
    per_end: int = PER_END,
) -> dict[Topic, tuple[RawRecord, ...]]:
    """Fetch the first and last committed records of each topic's ranges, in the order of `sample`.

    The result lacks topics with a partition that the broker refuses to read.  Raises
    BrokerUnreachableError when the broker does not answer in time.
    """
    spans = [(topic, *span) for topic, of_topic in ranges.items() for span in of_topic.items()]
    firsts = [_Reading(topic, partition, *span, per_end) for topic, partition, span in spans]
    lasts = [
        _Reading(topic, partition, max(begin + per_end, end - per_end), end, per_end)
        for topic, partition, (begin, end) in spans
    ]
    connection = Connection.within(kafka, kafka.read_timeout_s)
    consumer = connection.open(Consumer, **ONE_BY_ONE)
    try:
        _read(consumer, connection, firsts)
        _read(consumer, connection, lasts)
    finally:
        consumer.close()
    samples: dict[Topic, tuple[RawRecord, ...]] = dict.fromkeys(ranges, ())
    for reading in (*firsts, *lasts):
        samples[reading.topic] += tuple(reading.records)
    failed = {reading.topic for reading in (*firsts, *lasts) if reading.failed}
    return {topic: records for topic, records in samples.items() if topic not in failed}


def _read(consumer: Consumer, connection: Connection, readings: Collection[_Reading]) -> None:
    """Read all partitions at once, each until it is over.

    librdkafka stays forever at a batch that it does not expand, for its size: reading begins behind it.
    """
    active = {(item.topic, item.partition): item for item in readings if not item.is_over}
    consumer.assign([reading.place for reading in active.values()])
    while active:
        for message in consumer.consume(_MESSAGES, _POLL_S):
            reading = active.get((message.topic(), message.partition()))  # type: ignore[arg-type]  # or None
            if reading is None:
                continue
            before = reading.skipped
            reading.take(message)
            if reading.is_over or reading.skipped > before:
                consumer.incremental_unassign([reading.place])
            if reading.is_over:
                del active[reading.topic, reading.partition]
            elif reading.skipped > before:
                consumer.incremental_assign([reading.place])
        connection.raise_refused()
        if active and connection.is_over():
            raise connection.unreachable()
