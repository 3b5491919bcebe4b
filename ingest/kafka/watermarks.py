"""Ask the broker for the first and end offsets of all topics of a run at once."""

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Future
from datetime import datetime
from typing import Final, Self, TypeVar

import attrs
from confluent_kafka import (
    IsolationLevel,
    KafkaError,
    KafkaException,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # the package has no __all__
    AdminClient,
    ListOffsetsResultInfo,
    OffsetSpec,
    TopicDescription,
)

from ingest.config.rules import suggest
from ingest.errors import (
    BrokerRefusedError,
    BrokerUnreachableError,
    IngestError,
    TopicNotFoundError,
)
from ingest.kafka.breaks import Watermark
from ingest.kafka.connection import TEMPORARY, Connection
from ingest.moments import to_millis, to_moment
from ingest.names import Partition, Topic
from ingest.settings import KafkaSettings

_EARLIEST: Final = OffsetSpec.earliest()  # type: ignore[no-untyped-call]  # the client's
_LATEST: Final = OffsetSpec.latest()  # type: ignore[no-untyped-call]  # the client's
_NEWEST: Final = OffsetSpec.max_timestamp()  # type: ignore[no-untyped-call]  # the client's

_NO_ID: Final = "A" * 22
"""The id that a broker before Kafka 2.8 returns: sixteen zero bytes."""
_NO_TOPIC: Final = frozenset({"UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION"})

K = TypeVar("K")
A = TypeVar("A")


@attrs.frozen
class Watermarks:
    """The watermarks of many topics.  The error of one topic does not affect the others."""

    found: Mapping[Topic, Mapping[Partition, Watermark]]
    errors: Mapping[Topic, IngestError] = attrs.Factory(dict)

    def of(self, topic: Topic) -> Mapping[Partition, Watermark]:
        """Return a topic's watermarks, or raise its error."""
        if topic in self.errors:
            raise self.errors[topic]
        return self.found[topic]


def fetch_watermarks(
    kafka: KafkaSettings,
    topics: Iterable[Topic],
) -> Watermarks:
    """Fetch the ends of all topics: one request for metadata, two a broker for offsets.

    The end is the last stable offset: records of open transactions lie behind it.  Raises
    `BrokerUnreachableError` after `[kafka] timeout_s`, `BrokerRefusedError` as soon as a login is refused.
    """
    names = sorted(set(topics))
    if not names:
        return Watermarks({})
    connection = Connection.within(kafka)
    broker = _Broker(connection, connection.open(AdminClient))
    described, errors = broker.describe(names)
    ends: dict[Topic, dict[Partition, Watermark]] = {topic: {} for topic in described}
    for topic, partition, answer in broker.list_ends(described):
        if isinstance(answer, Watermark):
            ends[topic][partition] = answer
        else:
            errors[topic] = answer
    return Watermarks({k: v for k, v in ends.items() if k not in errors}, errors)


def fetch_offsets_at(
    kafka: KafkaSettings,
    topic: Topic,
    marks: Mapping[Partition, Watermark],
    moment: datetime,
) -> dict[Partition, int]:
    """Return each partition's first offset with a timestamp at or after a moment, else its end.

    The timestamps are the messages' own: the producer's, or the broker's if the topic is set so.
    """
    connection = Connection.within(kafka)
    broker = _Broker(connection, connection.open(AdminClient))
    answers = broker.list_offsets_at(topic, marks, moment)
    return {partition: answers.get(partition, mark.end) for partition, mark in marks.items()}


def fetch_newest(kafka: KafkaSettings, topics: Iterable[Topic]) -> dict[Topic, datetime | None]:
    """Return the largest timestamp of each topic that exists, None without messages (KIP-734, Kafka 3.0)."""
    connection = Connection.within(kafka)
    broker = _Broker(connection, connection.open(AdminClient))
    described, _ = broker.describe(sorted(set(topics)))
    newest = dict.fromkeys(described, -1)
    for topic, millis in broker.list_newest(described):
        newest[topic] = max(newest[topic], millis)
    return {topic: to_moment(millis) if millis >= 0 else None for topic, millis in newest.items()}


@attrs.frozen
class _Described:
    """A topic's id, empty if the broker has no ids, and its partitions."""

    topic_id: str
    partitions: tuple[Partition, ...]

    @classmethod
    def of(cls, answer: TopicDescription) -> Self:
        """Return id and partitions of a broker's answer."""
        topic_id = str(answer.topic_id)
        partitions = tuple(Partition(partition.id) for partition in answer.partitions)
        return cls("" if topic_id == _NO_ID else topic_id, partitions)


@attrs.frozen
class _Broker:
    """Questions about many topics, asked at once."""

    connection: Connection
    admin: AdminClient

    def describe(self, topics: list[Topic]) -> tuple[dict[Topic, _Described], dict[Topic, IngestError]]:
        """Return the id and partitions of each topic, or its error."""
        # Unlike `list_topics`, it returns topic ids (KIP-516), which reveal a recreated topic.
        futures = self.admin.describe_topics(
            TopicCollection(list[str](topics)), request_timeout=self.connection.remaining_s()
        )
        described: dict[Topic, _Described] = {}
        errors: dict[Topic, IngestError] = {}
        for name, answer in self._answers(futures).items():
            if isinstance(answer, KafkaError):
                errors[Topic(name)] = self._topic_error(Topic(name), answer)
            else:
                described[Topic(name)] = _Described.of(answer)
        return described, self._with_hints(errors)

    def _with_hints(self, errors: dict[Topic, IngestError]) -> dict[Topic, IngestError]:
        """Add the nearest of the broker's topics to the errors of topics that do not exist."""
        if not any(isinstance(error, TopicNotFoundError) for error in errors.values()):
            return errors
        try:
            names = list(self.admin.list_topics(timeout=self.connection.remaining_s()).topics)
        except KafkaException:
            return errors
        return {
            topic: attrs.evolve(error, hint=suggest(topic, names))
            if isinstance(error, TopicNotFoundError)
            else error
            for topic, error in errors.items()
        }

    def list_ends(
        self, topics: Mapping[Topic, _Described]
    ) -> Iterator[tuple[Topic, Partition, Watermark | IngestError]]:
        """Yield both ends of each partition, or its topic's error."""
        partitions = [TopicPartition(name, p) for name, topic in topics.items() for p in topic.partitions]
        begins = self._list_offsets(partitions, _EARLIEST)
        ends = self._list_offsets(partitions, _LATEST)
        for partition in partitions:
            topic, begin, end = Topic(partition.topic), begins[partition], ends[partition]
            answer: Watermark | IngestError
            if isinstance(begin, KafkaError):
                answer = self._topic_error(topic, begin)
            elif isinstance(end, KafkaError):
                answer = self._topic_error(topic, end)
            else:
                answer = Watermark(begin.offset, end.offset, topics[topic].topic_id)
            yield topic, Partition(partition.partition), answer

    def list_offsets_at(
        self, topic: Topic, marks: Mapping[Partition, Watermark], moment: datetime
    ) -> dict[Partition, int]:
        """Return offsets by time, of the partitions that have one within their watermarks."""
        spec = OffsetSpec.for_timestamp(to_millis(moment))
        offsets: dict[Partition, int] = {}
        for partition, answer in self._list_offsets([TopicPartition(topic, p) for p in marks], spec).items():
            if isinstance(answer, KafkaError):
                raise self._topic_error(topic, answer)
            number = Partition(partition.partition)
            if 0 <= answer.offset <= marks[number].end:  # -1: all messages are older
                offsets[number] = answer.offset
        return offsets

    def list_newest(self, topics: Mapping[Topic, _Described]) -> Iterator[tuple[Topic, int]]:
        """Yield the largest timestamp of each partition, in milliseconds, -1 without messages."""
        partitions = [TopicPartition(name, p) for name, topic in topics.items() for p in topic.partitions]
        for partition, answer in self._list_offsets(partitions, _NEWEST).items():
            topic = Topic(partition.topic)
            if isinstance(answer, KafkaError):
                raise self._topic_error(topic, answer)
            yield topic, answer.timestamp

    def _list_offsets(
        self, partitions: list[TopicPartition], spec: OffsetSpec
    ) -> Mapping[TopicPartition, ListOffsetsResultInfo | KafkaError]:
        futures = self.admin.list_offsets(
            dict.fromkeys(partitions, spec),
            isolation_level=IsolationLevel.READ_COMMITTED,
            request_timeout=self.connection.remaining_s(),
        )
        return self._answers(futures)

    def _answers(self, futures: Mapping[K, Future[A]]) -> dict[K, A | KafkaError]:
        """Wait for all answers.  Raise if the broker fails, rather than a single topic."""
        answers: dict[K, A | KafkaError] = {}
        for key, future in futures.items():
            answer: A | KafkaError = self.connection.answer(self.admin, future)
            answers[key] = answer
        return answers

    def _topic_error(self, topic: Topic, error: KafkaError) -> IngestError:
        servers = self.connection.kafka.bootstrap_servers
        if error.name() in _NO_TOPIC:
            return TopicNotFoundError(topic, servers)
        problem = f"topic {topic}: {error.str()}"
        if error.name() in TEMPORARY:
            return BrokerUnreachableError(servers, problem)
        return BrokerRefusedError(servers, problem)
