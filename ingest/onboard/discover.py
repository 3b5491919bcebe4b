"""What topics are, before they are onboarded: the schemas of keys and values, and where they come from."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from ingest import avro
from ingest.compile.payload import WriterSchema
from ingest.errors import BrokerUnreachableError, SchemaError, UsageError
from ingest.kafka.sample import RawRecord, sample
from ingest.kafka.topics import list_topics
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import SchemaId, Topic
from ingest.registry import Registry, TopicSubjects, find_topics
from ingest.run.messages import bare_keys, read_schema, written_in
from ingest.run.schemas import fetch_versions
from ingest.settings import KafkaSettings
from ingest.tables import Subjects


@attrs.frozen
class TopicSchemas:
    """A topic with what its messages are written with; no values where nothing tells.

    `key_names` are the columns of a key that has no schema; `caveats` are those of the topic itself.
    """

    topic: Topic
    keys: tuple[WriterSchema, ...] = ()
    values: tuple[WriterSchema, ...] = ()
    subjects: Subjects = Subjects()
    schema: Path | None = None
    key_names: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()


def matching(
    known: Sequence[TopicSubjects], patterns: Sequence[str], where: str
) -> tuple[TopicSubjects, ...]:
    """Return the topics that match one of the globs.  Raises `UsageError` where none does."""
    topics = tuple(one for one in known if any(fnmatchcase(one.topic, glob) for glob in patterns))
    if not topics:
        listed = ", ".join(one.topic for one in known[:5]) + (", …" if len(known) > len(known[:5]) else "")
        raise UsageError(
            f"no topic of {where} matches {' '.join(patterns)}",
            f"Its topics are: {listed}" if known else "It has none at all",
        )
    return topics


def registered_topics(
    registry: Registry, kafka: KafkaSettings, patterns: Sequence[str]
) -> tuple[TopicSubjects, ...]:
    """Return the topics with a value subject that match."""
    known = find_topics(registry.subjects(), lambda: _topics_to_compare(kafka))
    return matching(known, patterns, f"registry {registry.url}")


def held_topics(kafka: KafkaSettings, patterns: Sequence[str]) -> tuple[TopicSubjects, ...]:
    """Return the broker's topics that match."""
    known = [TopicSubjects(topic) for topic in list_topics(kafka.bootstrap_servers, kafka.properties)]
    return matching(known, patterns, f"broker {kafka.bootstrap_servers}")


def _topics_to_compare(kafka: KafkaSettings) -> tuple[Topic, ...] | None:
    """Return the broker's topics; None without a broker, which is then told as a doubt."""
    if not kafka.bootstrap_servers:
        return None
    try:
        return list_topics(kafka.bootstrap_servers, kafka.properties)
    except BrokerUnreachableError:
        return None


def find_registered(registry: Registry, named: TopicSubjects) -> TopicSchemas:
    """Find a topic's schemas by its subjects.  Raises `SchemaError` where it has records of several kinds."""
    if len(named.values) > 1:
        problem = f"its messages are of several records: {', '.join(named.values)}"
        todo = "A table has one: route each to a topic of its own, or delete the subjects no longer written"
        raise SchemaError(f"topic {named.topic}", "subjects", problem, todo)
    (value,) = named.values
    keys = fetch_versions(registry, named.key) if named.key else ()
    subjects = Subjects(key=named.key, value=value)
    caveats = (named.caveat,) if named.caveat else ()
    return TopicSchemas(named.topic, keys, fetch_versions(registry, value), subjects, caveats=caveats)


def find_held(kafka: KafkaSettings, topic: Topic, schema: Path | None) -> TopicSchemas:
    """Find a JSON topic's schemas in a sample of its messages; `schema` declares that of the values."""
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [topic]).of(topic)
    ranges = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    records = sample(kafka.bootstrap_servers, kafka.properties, topic, ranges)
    if schema is not None:
        declared = WriterSchema(SchemaId(-1), schema.name, read_schema(schema))
        return TopicSchemas(topic, (), (declared,), schema=schema, key_names=_key_names(records, topic))
    keys = written_in((record.key for record in records), f"keys of topic {topic}")
    return TopicSchemas(
        topic, keys, written_in((record.value for record in records), f"values of topic {topic}")
    )


def _key_names(records: Sequence[RawRecord], topic: Topic) -> tuple[str, ...]:
    """Return the columns of the keys, from their own schema, or from what they look like."""
    for written in written_in((record.key for record in records), f"keys of topic {topic}"):
        if isinstance(written.schema, avro.Record):
            return tuple(field.name for field in written.schema.fields)
    return bare_keys(records)
