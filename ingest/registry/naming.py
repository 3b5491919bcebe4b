"""Which subjects a topic's schemas have, by Confluent's three naming strategies.

By topic `<topic>-value`; by topic and record `<topic>-<record>`; by record `<record>`.  What belongs to which
topic is told by the names that Debezium gives its records: the topic in Avro's letters, then `.Envelope`
(`.Value` of flattened rows) and `.Key`.
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
"""Lists the broker's topics; None where there is no broker to ask."""


@attrs.frozen
class TopicSubjects:
    """A topic with the subjects of its keys and values.

    More than one of values where its messages are of several records, none where no registry holds any;
    `caveat` says why the topic may be another one.
    """

    topic: Topic
    key: Subject | None = None
    values: tuple[Subject, ...] = ()
    caveat: str = ""


def find_topics(
    subjects: Iterable[Subject], list_topics: ListTopics = lambda: None
) -> tuple[TopicSubjects, ...]:
    """Find the topics that have a value subject, sorted.

    Of several strategies the first counts: by topic, by topic and record, by record.  Only the last needs
    the broker: several topics can have one record, as `a-b` and `a_b` do.
    """
    known = frozenset(subjects)
    records = {one: parts for one in known if (parts := _RECORD.fullmatch(one))}
    values = _of_topics(records) | _by_topic(known)
    alone = {record: subject for record, subject in _alone(records).items() if record not in values}
    named = [TopicSubjects(topic, None, of) for topic, of in values.items()]
    named.extend(_told_by_record(alone, values.keys(), list_topics() if alone else None))
    found = (attrs.evolve(one, key=_key_of(one, known)) for one in named)
    return tuple(sorted(found, key=lambda one: one.topic))


def key_beside(value: Subject) -> Subject:
    """Name the subject that the key of a value's topic has by the same strategy."""
    split = split_subject(value)
    return subject_of(split[0], "key") if split else Subject(_record_of(value) + _KEY)


def _by_topic(known: AbstractSet[Subject]) -> dict[Topic, tuple[Subject, ...]]:
    """Return each topic's value subject by topic alone."""
    splits = ((subject, split_subject(subject)) for subject in known)
    return {split[0]: (subject,) for subject, split in splits if split and split[1] == "value"}


def _of_topics(records: Mapping[Subject, re.Match[str]]) -> dict[Topic, tuple[Subject, ...]]:
    """Return each topic's value subjects by topic and record, an envelope's before its flattened row's."""
    found: dict[Topic, dict[str, Subject]] = {}
    for subject, parts in sorted(records.items()):
        if parts["topic"] and parts["kind"] != "Key":
            found.setdefault(Topic(parts["topic"]), {}).setdefault(parts["record"], subject)
    return {topic: tuple(of.values()) for topic, of in found.items()}


def _alone(records: Mapping[Subject, re.Match[str]]) -> dict[str, Subject]:
    """Return the value subjects by record alone, an envelope's before its flattened row's."""
    found: dict[str, Subject] = {}
    for subject, parts in sorted(records.items()):
        if not parts["topic"] and parts["kind"] != "Key":
            found.setdefault(parts["record"], subject)
    return found


def _told_by_record(
    alone: Mapping[str, Subject], named: AbstractSet[Topic], held: Sequence[Topic] | None
) -> Iterator[TopicSubjects]:
    """Find the topics of subjects that name records alone, without those that other subjects name."""
    spelled = _spelled({*named, *(held or ())})
    found: dict[Topic, list[Subject]] = {}
    for record, subject in alone.items():
        topics = spelled.get(record, [])
        for topic in topics:
            found.setdefault(topic, []).append(subject)
        if not topics:
            yield TopicSubjects(Topic(record), None, (subject,), _doubt(record, subject, held))
    for topic, subjects in found.items():
        if topic not in named:
            yield TopicSubjects(topic, None, tuple(subjects))


def _key_of(one: TopicSubjects, known: AbstractSet[Subject]) -> Subject | None:
    """Return the key's subject: by the strategy of the values if there is one, for each side has its own."""
    own = [key_beside(value) for value in one.values]
    names = sorted(spellings(one.topic))
    by_record = [f"{one.topic}-{name}{_KEY}" for name in names]
    alone = [f"{name}{_KEY}" for name in names]
    wanted = (*own, subject_of(one.topic, "key"), *by_record, *alone)
    return next((Subject(name) for name in wanted if name in known), None)


def _record_of(subject: Subject) -> str:
    return next(subject.removesuffix(end) for end in (*_VALUES, "") if subject.endswith(end))


def _spelled(topics: Iterable[Topic]) -> dict[str, list[Topic]]:
    named: dict[str, list[Topic]] = {}
    for topic in sorted(topics):
        for name in spellings(topic):
            named.setdefault(name, []).append(topic)
    return named


def spellings(topic: Topic) -> frozenset[str]:
    """Return the names that Debezium's records of a topic begin with, by `schema.name.adjustment.mode`.

    `avro` and `avro_unicode`; a leading digit is replaced (1.9), or has the sign before it (2.0 and later).
    """
    # debezium-core: SchemaNameAdjuster.validFullname
    plain = re.sub(r"[^A-Za-z0-9_.]", "_", topic)
    coded = re.sub(r"[^A-Za-z0-9.]", lambda found: f"_u{ord(found[0]):04x}", topic)
    if not topic[:1].isdigit():
        return frozenset((plain, coded))
    return frozenset((f"_{plain}", f"_{plain[1:]}", f"_u{ord(topic[0]):04x}{coded[1:]}"))


def _doubt(record: str, subject: Subject, held: Sequence[Topic] | None) -> str:
    """Say what is not known of a topic that only its record tells; empty where the record tells all."""
    mend = "mend topic in the table file if it is another one"
    if held is not None:
        return f"topic {record}, after which subject {subject} is named, is not in the broker: {mend}"
    if "_" not in record:
        return ""
    return f"the topic's name is taken from subject {subject}, where '_' may stand for '-': {mend}"
