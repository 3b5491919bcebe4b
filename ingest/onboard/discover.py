"""Find the schemas of a topic's keys and values, in the registry or in the messages themselves."""

from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import attrs

from ingest import avro
from ingest.compile.envelope import classify, find_envelope
from ingest.compile.payload import WriterSchema
from ingest.config.rules import suggest
from ingest.errors import BrokerUnreachableError, SchemaError, SchemaNotFoundError, UsageError
from ingest.kafka.sample import RawRecord, sample
from ingest.kafka.topics import list_topics
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import SchemaId, Topic
from ingest.onboard.guess import Guess, guess_schema
from ingest.registry import Registry, TopicSubjects, find_topics, subject_of
from ingest.run.batch.messages import bare_keys, read_schema, written_in
from ingest.run.batch.schemas import document_keys, fetch_versions
from ingest.settings import KafkaSettings
from ingest.tables import CONFLUENT, Framing, Subjects

SHOWN_TOPICS = 5
_GUESS_PER_END = 200
"""The messages at each end of a partition from which types are guessed."""


@attrs.frozen
class TopicSchemas:
    """A topic with the schemas of its messages. `values` is empty if nothing names a schema.

    `key_names` are the columns of keys without a schema, and `caveats` concern the topic itself.  `guess` is
    a schema inferred from messages without a schema.
    """

    topic: Topic
    keys: tuple[WriterSchema, ...] = ()
    values: tuple[WriterSchema, ...] = ()
    subjects: Subjects = Subjects()
    schema: Path | None = None
    key_names: tuple[str, ...] = ()
    caveats: tuple[str, ...] = ()
    guess: Guess | None = None
    framings: tuple[Framing, ...] = CONFLUENT


def is_glob(pattern: str) -> bool:
    """Return whether a pattern can match topics of another name."""
    return any(sign in pattern for sign in "*?[")


def matching(
    topics: Sequence[TopicSubjects],
    patterns: Sequence[str],
    where: str,
    exclude: Sequence[str] = (),
    *,
    explain: Callable[[str], str] = lambda _: "",
    may_be_empty: bool = False,
) -> tuple[tuple[TopicSubjects, ...], tuple[str, ...]]:
    """Return the topics that match one of the globs, and the full names that do not exist.

    A topic that matches a glob of `exclude` is skipped.  `explain` says why a name has no topic, or returns
    an empty text.  Raises `UsageError` if no topic matches at all.
    """
    matched = [topic for topic in topics if matches(topic.topic, patterns)]
    chosen = tuple(topic for topic in matched if not matches(topic.topic, exclude))
    names = {str(topic.topic) for topic in topics}
    named = [name for name in patterns if not is_glob(name)]
    if matched and not chosen:
        raise UsageError(f"--exclude {' '.join(exclude)} excludes all {len(matched):,} topics that match")
    if not chosen and not may_be_empty:
        todo = " ".join(filter(None, map(explain, named))) or _nearest(patterns, sorted(names))
        raise UsageError(f"no topic of {where} matches {' '.join(patterns)}", todo)
    return chosen, tuple(name for name in named if name not in names)


def matches(name: str, globs: Iterable[str]) -> bool:
    """Return whether a name matches one of the globs."""
    return any(fnmatchcase(name, glob) for glob in globs)


def missing_topic(
    name: str, where: str, topics: Sequence[TopicSubjects], explain: Callable[[str], str] = lambda _: ""
) -> str:
    """Return the error of a topic that was requested by name and does not exist."""
    hint = explain(name) or suggest(name, [topic.topic for topic in topics])
    return f"{where} has no such topic" + (f". {hint}" if hint else "")


def explain_missing(registry: Registry, name: str) -> str:
    """Return why a registry lacks a topic's value subject, or an empty text if nothing explains it."""
    key, value = (subject_of(Topic(name), part) for part in ("key", "value"))
    subjects = registry.subjects()
    if context := next((s for s in subjects if s.startswith(":.") and s.endswith(f":{value}")), None):
        part = context[1:].partition(":")[0]
        return f"Subject {context} is in a context: end [registry] url with /contexts/{part}"
    try:
        deleted = registry.versions(value, deleted=True)
    except SchemaNotFoundError:
        deleted = ()
    if deleted:
        return f"Subject {value} is deleted: register it again, or let the connector write a change"
    if key in subjects:
        return f"It has the subject {key} and no {value}: the connector has not registered a change yet"
    return ""


def _nearest(patterns: Sequence[str], names: Sequence[str]) -> str:
    """Suggest topics in place of patterns without a match."""
    if not names:
        return "It has no topics"
    hints = [hint for pattern in patterns if (hint := suggest(pattern, names))]
    rest = len(names) - SHOWN_TOPICS
    listed = ", ".join(names[:SHOWN_TOPICS]) + (f" and {rest:,} more" if rest > 0 else "")
    return " ".join([*hints, f"Its topics are: {listed}"])


def registered_topics(registry: Registry, kafka: KafkaSettings) -> tuple[TopicSubjects, ...]:
    """Return the topics with a value subject."""
    return find_topics(registry.subjects(), lambda: _topics_to_compare(kafka))


def broker_topics(kafka: KafkaSettings) -> tuple[TopicSubjects, ...]:
    """Return the broker's topics."""
    return tuple(TopicSubjects(topic) for topic in list_topics(kafka))


def _topics_to_compare(kafka: KafkaSettings) -> tuple[Topic, ...] | None:
    """Return the broker's topics, or None without a broker. The missing comparison becomes a caveat."""
    if not kafka.bootstrap_servers:
        return None
    try:
        return list_topics(kafka)
    except BrokerUnreachableError:
        return None


def find_registered(registry: Registry, named: TopicSubjects) -> TopicSchemas:
    """Find a topic's schemas by its subjects.  Raises `SchemaError` if it has records of several kinds."""
    if len(named.values) > 1:
        problem = f"its messages are of several records: {', '.join(named.values)}"
        todo = "A table has one: route each to a topic of its own, or delete the subjects no longer written"
        raise SchemaError(f"topic {named.topic}", "subjects", problem, todo)
    (value,) = named.values
    keys = fetch_versions(registry, named.key) if named.key else ()
    subjects = Subjects(key=named.key, value=value)
    caveats = (named.caveat,) if named.caveat else ()
    return TopicSchemas(named.topic, keys, fetch_versions(registry, value), subjects, caveats=caveats)


def find_in_messages(kafka: KafkaSettings, topic: Topic, schema: Path | None) -> TopicSchemas:
    """Find a JSON topic's schemas in a sample of its messages. `schema` declares the schema of the values.

    Values without a schema get a schema that is guessed from them.
    """
    records = _sample(kafka, topic)
    if schema is not None:
        return _declared(topic, schema, records)
    keys = written_in((record.key for record in records), f"keys of topic {topic}")
    values = written_in((record.value for record in records), f"values of topic {topic}")
    names = () if keys else bare_keys(records)
    if values:
        return TopicSchemas(topic, keys or _document_keys(values), values, key_names=names)
    guess = guess_schema(record.value for record in _sample(kafka, topic, _GUESS_PER_END))
    if guess is None:
        return TopicSchemas(topic, keys, key_names=names)
    guessed = (WriterSchema(SchemaId(-1), f"guessed of topic {topic}", guess.schema),)
    names = names or _key_names(records, topic)
    return TopicSchemas(
        topic, _document_keys(guessed), guessed, key_names=names, caveats=(guess.caveat,), guess=guess
    )


def _declared(topic: Topic, schema: Path, records: Sequence[RawRecord]) -> TopicSchemas:
    values = (WriterSchema(SchemaId(-1), schema.name, read_schema(schema)),)
    return TopicSchemas(
        topic, _document_keys(values), values, schema=schema, key_names=_key_names(records, topic)
    )


def _sample(kafka: KafkaSettings, topic: Topic, per_end: int | None = None) -> tuple[RawRecord, ...]:
    marks = fetch_watermarks(kafka, [topic]).of(topic)
    ranges = {partition: (mark.begin, mark.end) for partition, mark in marks.items()}
    if per_end is None:
        return sample(kafka, topic, ranges)
    return sample(kafka, topic, ranges, per_end=per_end)


def _document_keys(values: Sequence[WriterSchema]) -> tuple[WriterSchema, ...]:
    """Return a schema for keys without one if values are documents, because documents hold no key columns."""
    newest = values[-1]
    if classify(newest.schema) != "data":
        return ()
    dialect = find_envelope(newest.schema, newest.label).dialect
    return document_keys() if dialect and dialect.is_document else ()


def _key_names(records: Sequence[RawRecord], topic: Topic) -> tuple[str, ...]:
    """Return the columns of the keys, from their own schema, or from their fields."""
    for written in written_in((record.key for record in records), f"keys of topic {topic}"):
        if isinstance(written.schema, avro.Record):
            return tuple(field.name for field in written.schema.fields)
    return bare_keys(records)
