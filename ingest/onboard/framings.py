"""Find the framings of a topic in a sample of its messages, for the table file.

The JVM's class FrameParser reads each message by the table's framings.  This module looks at a few messages
of any framing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import attrs

from ingest.errors import IngestError
from ingest.kafka.sample import RawRecord
from ingest.kafka.samples import sample_topics
from ingest.kafka.watermarks import Watermarks
from ingest.names import Partition, Topic
from ingest.onboard.discover import TopicSchemas
from ingest.registry import Registry, Side
from ingest.registry.apicurio import OF_APICURIO
from ingest.run.batch.schemas import fetch_versions
from ingest.settings import KafkaSettings
from ingest.tables import CONFLUENT, Framing

_PARTITIONS: Final = 4
"""Partitions with messages to look at."""
_PER_END: Final = 2
_BATCH: Final = 100
"""Topics to read at once: a partition may hand out 1 MiB at a time."""
_UNREAD: Final = (
    "framings: the messages could not be read, so they are Confluent's until `framings` names others"
)
_INT_END, _LONG_END, _GUID_END, _GLUE_END = 5, 9, 17, 18


@attrs.define
class _Sampled:
    """The framings of a sample, and the numbers of framings that share the same bytes."""

    framings: set[Framing] = attrs.Factory(set)
    ints: set[int] = attrs.Factory(set)
    longs: set[int] = attrs.Factory(set)
    count: int = 0
    unknown: int = 0

    def add(self, side: Side, payload: bytes, headers: Mapping[str, bytes | None]) -> None:
        """Classify one payload, as FrameParser does: headers first."""
        self.count += 1
        if f"__{side}_schema_id" in headers:
            self.framings.add("confluent-headers")
        elif headers.keys() & {f"apicurio.{side}.globalId", f"apicurio.{side}.contentId"}:
            self.framings.add("apicurio-headers")
        elif payload[:1] == b"\x01" and len(payload) >= _GUID_END:
            self.framings.add("confluent-guid")
        elif payload[:2] in {b"\x03\x00", b"\x03\x05"} and len(payload) >= _GLUE_END:
            self.framings.add("glue")
        elif payload[:_INT_END] == bytes(_INT_END) and len(payload) >= _LONG_END:
            self.longs.add(int.from_bytes(payload[1:_LONG_END]))
        elif payload[:1] == b"\x00" and len(payload) >= _INT_END:
            self.ints.add(int.from_bytes(payload[1:_INT_END]))
        else:
            self.unknown += 1


def find_framings(
    kafka: KafkaSettings, registry: Registry, schemas: TopicSchemas, sizes: Watermarks | None
) -> TopicSchemas:
    """Add the framings of a topic's first and last messages. Without messages they are Confluent's."""
    samples = sample_ends(kafka, [schemas.topic], sizes)
    return with_framings(samples.get(schemas.topic, ()), registry, schemas)


def sample_ends(
    kafka: KafkaSettings,
    topics: Sequence[Topic],
    sizes: Watermarks | None,
    note: Callable[[int], None] = lambda _: None,
) -> dict[Topic, tuple[RawRecord, ...] | None]:
    """Read the first and last messages of topics that have some.  None stands for unreadable messages.

    `note` hears how many topics are read.
    """
    filled = [(topic, ranges) for topic in topics if (ranges := _ranges(topic, sizes))]
    samples: dict[Topic, tuple[RawRecord, ...] | None] = dict.fromkeys(topic for topic, _ in filled)
    for start in range(0, len(filled), _BATCH):
        try:
            samples |= sample_topics(kafka, dict(filled[start : start + _BATCH]), per_end=_PER_END)
        except IngestError:
            break
        note(min(start + _BATCH, len(filled)))
    return samples


def _ranges(topic: Topic, sizes: Watermarks | None) -> dict[Partition, tuple[int, int]]:
    """Return the ranges of the first partitions with messages, as far as the broker was asked."""
    marks = sizes.found.get(topic, {}) if sizes else {}
    filled = [(number, (mark.begin, mark.end)) for number, mark in marks.items() if mark.end > mark.begin]
    return dict(sorted(filled)[:_PARTITIONS])


def with_framings(
    records: Iterable[RawRecord] | None, registry: Registry, schemas: TopicSchemas
) -> TopicSchemas:
    """Add the framings of a sample, or a caveat if its messages could not be read."""
    if records is None:
        return attrs.evolve(schemas, caveats=(*schemas.caveats, _UNREAD))
    return framings_of(records, registry, schemas)


def framings_of(records: Iterable[RawRecord], registry: Registry, schemas: TopicSchemas) -> TopicSchemas:
    """Add the framings of some messages of a topic."""
    sampled = _Sampled()
    for record in records:
        headers = dict(record.headers)
        if record.key:
            sampled.add("key", record.key, headers)
        if record.value:
            sampled.add("value", record.value, headers)
    known = {int(schema.schema_id) for schema in (*schemas.keys, *schemas.values)}
    framings = sampled.framings
    foreign = sampled.ints - known
    ids = _apicurio_ids(registry, schemas) if foreign or sampled.longs else {}
    if sampled.ints:
        is_global = bool(foreign) and sampled.ints <= ids.get("globalId", set())
        framings.add("apicurio-4-byte-global-id" if is_global else "confluent")
    if sampled.longs:
        of_content, of_global = (sampled.longs <= ids.get(kind, set()) for kind in ("contentId", "globalId"))
        framings.add(
            "apicurio-8-byte-content-id" if of_content and not of_global else "apicurio-8-byte-global-id"
        )
    return attrs.evolve(
        schemas,
        framings=tuple(sorted(framings)) or CONFLUENT,
        caveats=(*schemas.caveats, *_caveats(sampled, ids)),
    )


def _caveats(sampled: _Sampled, ids: Mapping[str, set[int]]) -> Iterator[str]:
    if sampled.unknown:
        yield (
            f"framings: {sampled.unknown} of {sampled.count} sampled keys and values begin with the bytes of "
            "no framing and are going to be rejects"
        )
    if sampled.longs and (sampled.longs <= ids.get("contentId", set())) == (
        sampled.longs <= ids.get("globalId", set())
    ):
        yield (
            "framings: ids of 8 bytes are globalIds or contentIds, and nothing tells which; use "
            "'apicurio-8-byte-content-id' if the producers set use-id = contentId"
        )


def _apicurio_ids(registry: Registry, schemas: TopicSchemas) -> dict[str, set[int]]:
    """Return the ids by which Apicurio's own API knows the versions of both subjects.

    Return an empty dict for other registries.
    """
    ids: dict[str, set[int]] = {}
    for subject in filter(None, (schemas.subjects.key, schemas.subjects.value)):
        try:
            versions = fetch_versions(registry, subject, OF_APICURIO)
        except IngestError:
            return {}
        for version in versions:
            for frame_id in version.frame_ids:
                ids.setdefault(frame_id.kind, set()).add(int(frame_id.text))
    return ids
