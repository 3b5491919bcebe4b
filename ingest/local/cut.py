"""Selects, cuts, partitions and rewrites the messages of a recording: pure, without a broker."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice, takewhile
from typing import Final

import attrs

from ingest.errors import FixtureError, UsageError
from ingest.local.fixture import Message, RecordedSchema, RecordedTopic, Recording
from ingest.names import SchemaId, first_few

MAGIC: Final = 0
HEADER_BYTES: Final = 5
SIDES: Final = ("key", "value")


@attrs.frozen
class Selection:
    """The part of a recording to load.  `later` are the schema ids that end a topic."""

    topics: tuple[RecordedTopic, ...]
    schemas: tuple[RecordedSchema, ...]
    later: frozenset[SchemaId]


def select(recording: Recording, patterns: tuple[str, ...], versions: int | None) -> Selection:
    """Choose topics by glob, and schemas by topic and version.

    A schema that others refer to always stays.
    """
    topics = _select_topics(recording, patterns)
    skipped = {f"{topic.name}-{side}" for topic in recording.topics if topic not in topics for side in SIDES}
    ours = [schema for schema in recording.schemas if schema.subject not in skipped]
    referred = {reference.subject for schema in ours for reference in schema.references}
    selected = tuple(
        schema
        for schema in ours
        if versions is None or schema.version <= versions or schema.subject in referred
    )
    later = {schema.id for schema in ours} - {schema.id for schema in selected}
    return Selection(topics, selected, frozenset(later))


def _select_topics(recording: Recording, patterns: tuple[str, ...]) -> tuple[RecordedTopic, ...]:
    names = [topic.name for topic in recording.topics]
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise UsageError(f"{recording.folder} has no topic {pattern}", f"It has {first_few(names, 10)}")
    return tuple(
        topic
        for topic in recording.topics
        if not patterns or any(fnmatchcase(topic.name, pattern) for pattern in patterns)
    )


def cut(messages: Iterable[Message], later: frozenset[SchemaId], limit: int | None) -> Iterator[Message]:
    """End a topic before its first message written with a later schema, and after `limit` messages."""
    due = takewhile(
        lambda message: read_id(message.key) not in later and read_id(message.value) not in later,
        messages,
    )
    return islice(due, limit)


def skip_present(messages: Iterable[Message], ends: Mapping[int, int]) -> Iterator[Message]:
    """Skip the messages that the partitions hold already: as many as each partition's end offset."""
    seen: Counter[int] = Counter()
    for message in messages:
        seen[message.partition] += 1
        if seen[message.partition] > ends.get(message.partition, 0):
            yield message


def read_id(payload: bytes | None) -> SchemaId | None:
    """Read the schema id of a Confluent-framed payload (0x00, four bytes).  Return None for any other."""
    if payload is None or len(payload) < HEADER_BYTES or payload[0] != MAGIC:
        return None
    return SchemaId(int.from_bytes(payload[1:HEADER_BYTES], "big", signed=True))


@attrs.frozen
class Rewriting:
    """Schema ids of a recording, and the ids that the registry gave to the same schemas."""

    ids: Mapping[SchemaId, SchemaId]
    subjects: frozenset[str]

    def rewrite(self, topic: RecordedTopic, message: Message) -> Message:
        """Give a message the registry's ids."""
        key, value = (
            self._rewrite_payload(topic, message, side, payload)
            for side, payload in zip(SIDES, (message.key, message.value), strict=True)
        )
        return attrs.evolve(message, key=key, value=value)

    def _rewrite_payload(
        self, topic: RecordedTopic, message: Message, side: str, payload: bytes | None
    ) -> bytes | None:
        old = read_id(payload)
        if payload is None or old is None:
            return payload
        if old in self.ids:
            return payload[:1] + self.ids[old].to_bytes(4, "big", signed=True) + payload[HEADER_BYTES:]
        if f"{topic.name}-{side}" in self.subjects:
            raise FixtureError(
                str(topic.file),
                f"{topic.name}-{message.partition}-{message.offset} {side}",
                f"names schema id {old}, which the recording does not hold",
            )
        return payload  # without a subject it is not Avro: a long key starts with a zero byte too


def partition(messages: Iterable[Message], recorded: int, partitions: int) -> Iterator[Message]:
    """Keep each message's own partition, or distribute all messages over another number of partitions."""
    if partitions == recorded:
        yield from messages
        return
    for number, message in enumerate(messages):
        key = message.key
        hashed = number if key is None else murmur2(key) & 0x7FFFFFFF
        yield attrs.evolve(message, partition=hashed % partitions)


def murmur2(data: bytes) -> int:
    """Hash a key as Kafka's default partitioner does (`Utils.murmur2` of kafka-clients), unsigned."""
    mix, mask = 0x5BD1E995, 0xFFFFFFFF
    hashed = 0x9747B28C ^ len(data)
    whole = len(data) & ~3
    for start in range(0, whole, 4):
        word = int.from_bytes(data[start : start + 4], "little") * mix & mask
        word = (word ^ word >> 24) * mix & mask
        hashed = hashed * mix & mask ^ word
    if tail := data[whole:]:
        hashed = (hashed ^ int.from_bytes(tail, "little")) * mix & mask
    hashed = (hashed ^ hashed >> 13) * mix & mask
    return hashed ^ hashed >> 15
