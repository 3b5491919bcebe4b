"""Topics of one name in several places, such as shards of a database, become one table."""

from collections.abc import Sequence
from fnmatch import fnmatchcase
from typing import Final

import attrs

from ingest.names import Topic
from ingest.onboard.layout import choose_buckets
from ingest.onboard.outcome import Onboarded
from ingest.tables import Subjects, TableConfig

_TOPIC: Final = "{topic}"
_SAME: Final = ("dialect", "format", "key")
"""The parts of a table file in which all topics of a table agree."""


def merged(results: Sequence[Onboarded], patterns: Sequence[str], names: Sequence[Topic]) -> list[Onboarded]:
    """Join the results of topics that would become tables of the same name, also a single topic's.

    `names` are all topics. A table file gets a pattern if the pattern matches no other topics.
    """
    groups: dict[str, list[Onboarded]] = {}
    for result in results:
        name = result.table.name if result.table else result.topic
        groups.setdefault(name, []).append(result)
    return [
        _joined(name, group, patterns, names) if any(result.table for result in group) else group[0]
        for name, group in groups.items()
    ]


def _joined(
    name: str, group: Sequence[Onboarded], patterns: Sequence[str], names: Sequence[Topic]
) -> Onboarded:
    tables = [result.table for result in group if result.table]
    topics = tuple(sorted(table.topic for table in tables))
    all_topics = Topic(",".join(topics))
    reason = next((result.reason for result in group if result.reason), "") or _difference(name, tables)
    if reason:
        return Onboarded(all_topics, "failed", reason)
    messages = sum(result.messages for result in group)
    buckets, layout = choose_buckets(messages)
    subjects = {_template(table) for table in tables}
    table = attrs.evolve(
        tables[0],
        topic=Topic(""),
        topics=_pattern(topics, patterns, names) or topics,
        subjects=subjects.pop(),
        target=attrs.evolve(tables[0].target, buckets=buckets),
    )
    return attrs.evolve(
        group[0],
        topic=all_topics,
        table=table,
        columns=max(result.columns for result in group),
        layout=layout,
        caveats=tuple(dict.fromkeys(caveat for result in group for caveat in result.caveats)),
    )


def _difference(name: str, tables: Sequence[TableConfig]) -> str:
    """Return how topics differ so that they cannot be one table, or an empty text if they do not."""
    first = tables[0]
    for table in tables[1:]:
        for part in _SAME:
            value, other = getattr(first, part), getattr(table, part)
            if value != other:
                return (
                    f"topics of table {name} differ in {part}: {_text(value)} of {first.topic}, "
                    f"{_text(other)} of {table.topic}"
                )
        if _template(table) != _template(first):
            return f"topics of table {name} have subjects of different forms: {first.topic}, {table.topic}"
    return ""


def _text(value: object) -> str:
    return ", ".join(getattr(value, "columns", ())) or str(value)


def _template(table: TableConfig) -> Subjects:
    """Return the subjects with a placeholder for the topic."""
    key, value = (
        subject and type(subject)(subject.replace(table.topic, _TOPIC))
        for subject in (table.subjects.key, table.subjects.value)
    )
    return Subjects(key=key, value=value)


def _pattern(topics: Sequence[Topic], patterns: Sequence[str], names: Sequence[Topic]) -> tuple[Topic, ...]:
    """Return a pattern that matches exactly a table's topics, or an empty tuple if it does not exist."""
    for pattern in patterns:
        *steps, last = zip(pattern.split("."), *(topic.split(".") for topic in topics), strict=False)
        is_several = len(topics) > 1  # only the last part of a single topic names the table
        narrowed = ".".join((*(_step(step, is_several=is_several) for step in steps), _step(last)))
        if {name for name in names if fnmatchcase(name, narrowed)} == set(topics):
            return (Topic(narrowed),)
    return ()


def _step(parts: tuple[str, ...], *, is_several: bool = True) -> str:
    """Return the topics' common text of a part if it is the same, else the pattern's, which is the first."""
    wide, *texts = parts
    return texts[0] if is_several and len(set(texts)) == 1 else wide
