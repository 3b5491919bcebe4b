"""What topics are, before they are onboarded: the schemas of keys and values, and where they come from."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from ingest import avro
from ingest.compile.side import Written
from ingest.errors import UsageError
from ingest.kafka.read import RawRecord
from ingest.kafka.sample import sample
from ingest.kafka.topics import list_topics
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import SchemaId, Topic
from ingest.registry import Registry, fetch_pair, topics_of
from ingest.run.messages import bare_keys, read_schema, written_in
from ingest.run.schemas import fetch_versions
from ingest.settings import KafkaSettings
from ingest.tables import Subjects


@attrs.frozen
class Found:
    """A topic with what its messages are written with; no values where nothing tells.

    `key_names` are the columns of a key that has no schema.
    """

    topic: Topic
    keys: tuple[Written, ...] = ()
    values: tuple[Written, ...] = ()
    subjects: Subjects = Subjects()
    schema: Path | None = None
    key_names: tuple[str, ...] = ()


def matching(known: Sequence[Topic], patterns: Sequence[str], where: str) -> tuple[Topic, ...]:
    """Return the topics that match one of the globs.  Raises `UsageError` where none does."""
    topics = tuple(topic for topic in known if any(fnmatchcase(topic, one) for one in patterns))
    if not topics:
        listed = ", ".join(known[:5]) + (", …" if len(known) > len(known[:5]) else "")
        raise UsageError(
            f"no topic of {where} matches {' '.join(patterns)}",
            f"Its topics are: {listed}" if known else "It has none at all",
        )
    return topics


def registered_topics(registry: Registry, patterns: Sequence[str]) -> tuple[Topic, ...]:
    """Return the topics with a value subject that match."""
    return matching(topics_of(registry.subjects()), patterns, f"registry {registry.url}")


def held_topics(kafka: KafkaSettings, patterns: Sequence[str]) -> tuple[Topic, ...]:
    """Return the broker's topics that match."""
    known = list_topics(kafka.bootstrap_servers, kafka.properties)
    return matching(known, patterns, f"broker {kafka.bootstrap_servers}")


def find_registered(registry: Registry, topic: Topic) -> Found:
    """Find a topic's schemas by its subjects."""
    pair = fetch_pair(registry, topic)
    subjects = Subjects(key=pair.key.subject if pair.key else None, value=pair.value.subject)
    keys = fetch_versions(registry, pair.key.subject) if pair.key else ()
    return Found(topic, keys, fetch_versions(registry, pair.value.subject), subjects)


def find_held(kafka: KafkaSettings, topic: Topic, schema: Path | None) -> Found:
    """Find a JSON topic's schemas in a sample of its messages; `schema` declares that of the values."""
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [topic]).of(topic)
    ranges = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    records = sample(kafka.bootstrap_servers, kafka.properties, topic, ranges)
    if schema is not None:
        declared = Written(SchemaId(-1), schema.name, read_schema(schema))
        return Found(topic, (), (declared,), schema=schema, key_names=_key_names(records, topic))
    keys = written_in((record.key for record in records), f"keys of topic {topic}")
    return Found(topic, keys, written_in((record.value for record in records), f"values of topic {topic}"))


def _key_names(records: Sequence[RawRecord], topic: Topic) -> tuple[str, ...]:
    """Return the columns of the keys, from their own schema, or from what they look like."""
    for written in written_in((record.key for record in records), f"keys of topic {topic}"):
        if isinstance(written.schema, avro.Record):
            return tuple(field.name for field in written.schema.fields)
    return bare_keys(records)
