"""The tables that the messages of a topic name, as values."""

import attrs

from ingest.compile.payload import WriterSchema


@attrs.frozen
class SourceTable:
    """A table of a topic: its name as `source_table` spells it, and the schemas of its messages."""

    name: str
    messages: int
    keys: tuple[WriterSchema, ...]
    values: tuple[WriterSchema, ...]


@attrs.frozen
class TopicTables:
    """The tables of a topic."""

    tables: tuple[SourceTable, ...]
    unnamed: tuple[WriterSchema, ...] = ()
    """The schemas of messages that do not name a table, such as heartbeats."""
    unreadable: int = 0
    """Messages of unknown schemas, or that are not events."""
