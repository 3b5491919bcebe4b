"""Several topics of one table: their names, and how they live together."""

import re
from typing import TYPE_CHECKING, Any, Final, Literal

import attrs

from ingest.config.rules import WrongValueError

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
            "help": "`by_topic`: rows of two topics may have the same key. `unique`: they never do, and a "
            "topic that brings a key of another topic's row fails."
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
    if table.topic and table.topics:
        raise WrongValueError("topics", "is given next to topic", "Remove one of them")
    if not table.topic and not table.topics:
        raise WrongValueError("topic", "is missing", "Name the topic, or several: topics = [...]")
    if not table.topics and table.shards != Shards():
        raise WrongValueError("shards", "is only for a table of several topics", "Remove it, or give topics")
    if table.topics and table.schema_changes:
        problem = "names one topic, and the table has several connectors"
        raise WrongValueError("schema_changes", problem, "Remove it")
