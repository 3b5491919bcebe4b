"""Several topics of one table: the topics, and the view of the table that each of them has."""

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from ingest.config.rules import WrongValueError
from ingest.names import Topic

if TYPE_CHECKING:
    from ingest.tables.table import TableConfig

SOURCE: Final = "_cdc_source"
"""The column with the topic of a row, in tables of several topics.  It is a part of the record key."""
TOPIC_FIELD: Final = "{topic}"
"""The placeholder of the topic in the subjects of a table of several topics."""
_PATTERN: Final = re.compile(r"[A-Za-z0-9._\-*?\[\]!]{1,249}")
_SIGNS: Final = "*?["


@attrs.frozen
class Shards:
    """How the topics of one table live together."""

    keys: Literal["by_topic", "unique"] = attrs.field(
        default="by_topic",
        metadata={
            "help": "`by_topic`: rows of two topics may have the same key. `unique`: they never do; a topic "
            "that brings a key of another topic's row fails."
        },
    )
    failure: Literal["continue", "stop"] = attrs.field(
        default="continue",
        metadata={
            "help": "A topic that fails: `continue` with the others, or `stop` the table. The run fails in "
            "both cases."
        },
    )


def check_topics(_: Any, attribute: "attrs.Attribute[Any]", value: tuple[str, ...]) -> None:
    """Refuse names and patterns that match no name of Kafka's, and duplicates."""
    for name in value:
        if _PATTERN.fullmatch(name) is None or name in {".", ".."}:
            allowed = "letters, digits, '.', '_' and '-', and the signs '*', '?' and '[]' of a pattern"
            raise WrongValueError(attribute.name, f"found '{name}'; allowed: {allowed}")
        if value.count(name) > 1:
            raise WrongValueError(attribute.name, f"names the topic '{name}' twice")


def is_pattern(name: str) -> bool:
    """Tell whether a name matches several topics."""
    return any(sign in name for sign in _SIGNS)


def check_shards(table: "TableConfig") -> None:
    """Refuse a table without a topic, with one and several, and settings that no single topic has."""
    if table.topic and table.topics and not table.source:
        raise WrongValueError("topics", "is given next to topic", "Remove one of them")
    if not table.topic and not table.topics:
        raise WrongValueError("topic", "is missing", "Name the topic, or several: topics = [...]")
    if not table.topics and not table.source and table.shards != Shards():
        raise WrongValueError("shards", "is only for a table of several topics", "Remove it, or give topics")
    if table.topics and table.schema_changes:
        problem = "names one topic, and the table has several connectors"
        raise WrongValueError("schema_changes", problem, "Remove it")


def view_of(table: "TableConfig", topic: Topic) -> "TableConfig":
    """Return a table as one of its topics sees it: rows of this topic, by the schemas of its subjects."""

    def subject(name: Any) -> Any:
        return name and type(name)(name.replace(TOPIC_FIELD, topic))

    subjects = attrs.evolve(
        table.subjects, key=subject(table.subjects.key), value=subject(table.subjects.value)
    )
    return attrs.evolve(table, topic=topic, topics=(), source=topic, subjects=subjects)


def views(table: "TableConfig") -> tuple["TableConfig", ...]:
    """Return the view of each topic.  A table of one topic is its only view."""
    if not table.topics:
        return (table,)
    return tuple(view_of(table, topic) for topic in table.topics)
