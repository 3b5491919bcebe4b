"""Find the subjects of a topic's schemas, by Confluent's three naming strategies.

TopicNameStrategy gives `<topic>-value`, TopicRecordNameStrategy `<topic>-<record>`, RecordNameStrategy
`<record>`.  Debezium names its records after the topic, in characters that Avro allows, followed by
`.Envelope` (`.Value` for flattened rows) or `.Key`.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs

from ingest.names import Subject, Topic
from ingest.registry.subject import split_subject, subject_of

# An Avro name has no "-": the last one ends the topic.
_RECORD = re.compile(
    r"(?:(?P<topic>[\w.-]+)-)?(?P<record>[A-Za-z_][\w.]*)\.(?P<kind>Envelope|Value|Key)", re.ASCII
)
_KEY = ".Key"
_VALUES = (".Envelope", ".Value")

ListTopics = Callable[[], Sequence[Topic] | None]
"""Lists the topics of the broker.  Returns None without a broker."""


@attrs.frozen
class TopicSubjects:
    """A topic with the subjects of its keys and values.

    `values` has several subjects if the topic's messages are of several records, and is empty for a topic
    that the registry does not have.  `caveat` is the reason to doubt the topic's name.
    """

    topic: Topic
    key: Subject | None = None
    values: tuple[Subject, ...] = ()
    caveat: str = ""


def find_topics(
    subjects: Iterable[Subject], list_topics: ListTopics = lambda: None
) -> tuple[TopicSubjects, ...]:
    """Find the topics that have a value subject, sorted.

    The first strategy with a match wins: by topic, by topic and record, by record.  Only the last needs the
    broker: several topics can share a record name, such as `a-b` and `a_b`.
    """
    names = frozenset(subjects)
    records = {name: parts for name in names if (parts := _RECORD.fullmatch(name))}
    values = _by_topic_and_record(records) | _by_topic(names)
    by_record = {record: subject for record, subject in _by_record(records).items() if record not in values}
    topics = [TopicSubjects(topic, None, group) for topic, group in values.items()]
    topics.extend(_topics_of_records(by_record, values.keys(), list_topics() if by_record else None))
    with_keys = (attrs.evolve(topic, key=_key_of(topic, names)) for topic in topics)
    return tuple(sorted(with_keys, key=lambda topic: topic.topic))


def key_beside(value: Subject) -> Subject:
    """Return the key subject that corresponds to a value subject, by the same strategy."""
    split = split_subject(value)
    return subject_of(split[0], "key") if split else Subject(_record_of(value) + _KEY)


def _by_topic(subjects: AbstractSet[Subject]) -> dict[Topic, tuple[Subject, ...]]:
    """Return the value subjects of TopicNameStrategy, by topic."""
    splits = ((subject, split_subject(subject)) for subject in subjects)
    return {split[0]: (subject,) for subject, split in splits if split and split[1] == "value"}


def _by_topic_and_record(records: Mapping[Subject, re.Match[str]]) -> dict[Topic, tuple[Subject, ...]]:
    """Return the value subjects of TopicRecordNameStrategy, by topic.  An envelope comes first."""
    topics: dict[Topic, dict[str, Subject]] = {}
    for subject, parts in sorted(records.items()):
        if parts["topic"] and parts["kind"] != "Key":
            topics.setdefault(Topic(parts["topic"]), {}).setdefault(parts["record"], subject)
    return {topic: tuple(by_record.values()) for topic, by_record in topics.items()}


def _by_record(records: Mapping[Subject, re.Match[str]]) -> dict[str, Subject]:
    """Return the value subjects of RecordNameStrategy, by record.  An envelope comes first."""
    by_record: dict[str, Subject] = {}
    for subject, parts in sorted(records.items()):
        if not parts["topic"] and parts["kind"] != "Key":
            by_record.setdefault(parts["record"], subject)
    return by_record


def _topics_of_records(
    by_record: Mapping[str, Subject], registered: AbstractSet[Topic], broker: Sequence[Topic] | None
) -> Iterator[TopicSubjects]:
    """Find the topics of RecordNameStrategy subjects, except the `registered` ones.

    `broker` lists the broker's topics, and is None without a broker.
    """
    spelling = _topics_by_spelling({*registered, *(broker or ())})
    by_topic: dict[Topic, list[Subject]] = {}
    for record, subject in by_record.items():
        topics = spelling.get(record, [])
        for topic in topics:
            by_topic.setdefault(topic, []).append(subject)
        if not topics:
            yield TopicSubjects(Topic(record), None, (subject,), _caveat(record, subject, broker))
    for topic, subjects in by_topic.items():
        if topic not in registered:
            yield TopicSubjects(topic, None, tuple(subjects))


def _key_of(topic: TopicSubjects, subjects: AbstractSet[Subject]) -> Subject | None:
    """Return the key's subject: by the strategy of the values if it exists, else by any other.

    Confluent configures the strategies of keys and values separately.
    """
    same = [key_beside(value) for value in topic.values]
    names = sorted(spellings(topic.topic))
    by_topic_and_record = [f"{topic.topic}-{name}{_KEY}" for name in names]
    by_record = [f"{name}{_KEY}" for name in names]
    candidates = (*same, subject_of(topic.topic, "key"), *by_topic_and_record, *by_record)
    return next((Subject(name) for name in candidates if name in subjects), None)


def _record_of(subject: Subject) -> str:
    return next(subject.removesuffix(end) for end in (*_VALUES, "") if subject.endswith(end))


def _topics_by_spelling(topics: Iterable[Topic]) -> dict[str, list[Topic]]:
    by_spelling: dict[str, list[Topic]] = {}
    for topic in sorted(topics):
        for name in spellings(topic):
            by_spelling.setdefault(name, []).append(topic)
    return by_spelling


def spellings(topic: Topic) -> frozenset[str]:
    """Return the record name prefixes for a topic, by Debezium's `schema.name.adjustment.mode`.

    Covers `avro` and `avro_unicode`.  A leading digit is replaced (1.9) or prefixed (2.0 and later).
    """
    # debezium-core: SchemaNameAdjuster.validFullname
    plain = re.sub(r"[^A-Za-z0-9_.]", "_", topic)
    coded = re.sub(r"[^A-Za-z0-9.]", lambda match: f"_u{ord(match[0]):04x}", topic)
    if not topic[:1].isdigit():
        return frozenset((plain, coded))
    return frozenset((f"_{plain}", f"_{plain[1:]}", f"_u{ord(topic[0]):04x}{coded[1:]}"))


def _caveat(record: str, subject: Subject, broker: Sequence[Topic] | None) -> str:
    """Return the doubt about a topic that was named after its record.  Empty if the name is certain."""
    todo = "correct topic in the table file if it has another name"
    if broker is not None:
        return f"the broker does not have topic {record}, named after subject {subject}: {todo}"
    if "_" not in record:
        return ""
    return f"the topic's name comes from subject {subject}, where '_' may replace '-': {todo}"
