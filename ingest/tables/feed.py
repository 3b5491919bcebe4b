"""A table by one of its topics: what a run reads, decodes and writes."""

from typing import Self

import attrs

from ingest.masking import Masking
from ingest.names import Subject, Topic
from ingest.tables.shards import TOPIC_FIELD
from ingest.tables.source_table import topic_of
from ingest.tables.table import Subjects, TableConfig
from ingest.tables.target import Target


@attrs.frozen
class Feed:
    """A topic of a table, with the subjects of its schemas and the masks of the deployment."""

    table: TableConfig
    topic: Topic
    """One topic.  The table file may name several, or patterns."""
    subjects: Subjects
    masking: Masking = Masking()

    @property
    def name(self) -> str:
        """The name of the table."""
        return self.table.name

    @property
    def source(self) -> Topic | None:
        """The topic that the rows name as their source, or None if the table has one topic only."""
        return self.topic if self.table.topics else None

    @property
    def label(self) -> str:
        """The table, and its topic if it has several."""
        return f"{self.name} {self.topic}" if self.source else self.name

    @property
    def connector_topic(self) -> Topic:
        """The topic that the connector gives the table, unless a router merges it with others."""
        return self.topic if self.table.source_table is None else topic_of(self.table.source_table)

    def keyless(self) -> Self:
        """Return the feed of a table without keys, which the comparison of schemas does without."""
        return attrs.evolve(self, table=attrs.evolve(self.table, target=Target(mode="append")))

    @property
    def withholds_messages(self) -> bool:
        """Whether the bytes of messages must not be stored: they may hold values that the table masks."""
        return bool(self.masking.tags or any(column.mask for column in self.table.columns.values()))


def feed_of(table: TableConfig, topic: Topic, masking: Masking) -> Feed:
    """Return the feed of a table by a topic."""

    def of_topic(subject: Subject | None) -> Subject | None:
        return subject and Subject(subject.replace(TOPIC_FIELD, topic))

    subjects = attrs.evolve(
        table.subjects, key=of_topic(table.subjects.key), value=of_topic(table.subjects.value)
    )
    return Feed(table, topic, subjects if table.topics else table.subjects, masking)


def feeds(table: TableConfig, masking: Masking) -> tuple[Feed, ...]:
    """Return the feed of each topic that a table file names, in its order.  Patterns count as topics."""
    return tuple(feed_of(table, topic, masking) for topic in table.topics or (table.topic,))
