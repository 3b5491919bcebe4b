"""The existing table files, by the topics that they read.

A topic has one table.  A second file for it would make a second table, and a file of the same name that reads
another topic would leave this topic unread.
"""

from collections.abc import Sequence
from pathlib import Path

import attrs

from ingest.names import Subject, Topic, first_few
from ingest.onboard.discover import matches
from ingest.onboard.outcome import Onboarded, OnboardOptions
from ingest.registry import TopicSubjects
from ingest.settings import Settings
from ingest.tables import TableConfig, clashes, read_valid, table_name


@attrs.frozen
class Homes:
    """The tables with a file. Broken files are left out, and fail once a topic needs them."""

    folder: Path
    tables: tuple[TableConfig, ...]
    folds_case: bool
    """Whether names that differ only by letter case are one, as a catalog's are."""

    @classmethod
    def read(cls, settings: Settings) -> "Homes":
        """Read the table files of a deployment."""
        folder = settings.tables_dir
        tables = read_valid(folder, defaults=settings.defaults)[0] if any(folder.glob("*.toml")) else ()
        return cls(folder, tables, folds_case=bool(settings.lake.database))

    def of(self, topic: Topic, values: Sequence[Subject] = ()) -> TableConfig | None:
        """Return the table that reads a topic, or that a person gave another topic for its subject."""
        whole = [table for table in self.tables if not table.source_table]
        by_topic = (table for table in whole if reads(table, topic))
        by_subject = (table for table in whole if table.subjects.value in values)
        return next(by_topic, None) or next(by_subject, None)

    def parts_of(self, topic: Topic) -> tuple[TableConfig, ...]:
        """Return the tables that take a part of a topic each."""
        return tuple(table for table in self.tables if table.source_table and table.topic == topic)

    def name_of(self, settings: Settings, topic: TopicSubjects, options: OnboardOptions) -> str:
        """Return the name of a topic's table, from its file or by the template.  Raises UsageError."""
        home = self.of(topic.topic, topic.values)
        if home and not home.topics:
            return home.name
        return table_name(topic.topic, options.name or settings.onboard.name)

    def refusals(self, results: Sequence[Onboarded]) -> dict[Topic, str]:
        """Return the topics that must not have their intended table, and why."""
        tables = {result.topic: result.table for result in results if result.table}
        reasons = {
            topic: reason for topic, table in tables.items() if (reason := self._occupied(topic, table))
        }
        names = {topic: self._folded(table.name) for topic, table in tables.items() if topic not in reasons}
        for twins in clashes(names).values():
            for topic in twins:
                if self.of(topic, _values(tables[topic])) is None:
                    others = ", ".join(other for other in twins if other != topic)
                    reasons[topic] = (
                        f"would become table {tables[topic].name}, as {others} would: give them names that "
                        "differ, with --name, or make them one table, with --merge"
                    )
        return reasons

    def _occupied(self, origin: Topic, table: TableConfig) -> str:
        """Return the reason if another table's file has the name, or an empty text."""
        twin = next((t for t in self.tables if self._folded(t.name) == self._folded(table.name)), None)
        if twin is None:
            return ""
        unread = [topic for topic in origin.split(",") if not reads(twin, Topic(topic))]
        if not unread or twin.subjects.value in _values(table):
            return ""
        read_now = first_few(tuple(twin.topics or (twin.topic,)))
        return (
            f"{self.folder / twin.name}.toml reads {read_now}: give this table another name, with --name, or "
            "list both in `topics` of that file"
        )

    def _folded(self, name: str) -> str:
        return name.casefold() if self.folds_case else name


def reads(table: TableConfig, topic: Topic) -> bool:
    """Return whether a table reads a topic, by itself or as one of several."""
    return table.topic == topic or matches(topic, table.topics)


def _values(table: TableConfig) -> tuple[Subject, ...]:
    return (table.subjects.value,) if table.subjects.value else ()
