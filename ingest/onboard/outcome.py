"""The options of onboarding, and its result for each topic, as values."""

from pathlib import Path
from typing import Literal

import attrs

from ingest.names import Topic
from ingest.tables import Format, TableConfig

State = Literal["new", "unchanged", "completed", "left out", "failed", "orphaned"]
"""`orphaned` is a table file without a topic, which only a check of the folder reports."""


@attrs.frozen
class Onboarded:
    """The result for one topic. `reason` says why it was left out or failed."""

    topic: Topic
    state: State
    reason: str = ""
    path: Path | None = None
    table: TableConfig | None = None
    key_columns: tuple[str, ...] = ()
    columns: int = 0
    layout: str = ""
    """The reason for the layout of the Hudi table."""
    caveats: tuple[str, ...] = ()
    messages: int = 0
    """The messages of the topic, as far as the broker was asked."""
    guessed: str = ""
    """The text of a guessed schema's file, which the table file names."""
    source_table: str = ""
    """The table's name in its source, if the topic holds several tables."""

    @property
    def origin(self) -> str:
        """The topic, with the table's name in the source if the topic holds several tables."""
        return f"{self.topic}: {self.source_table}" if self.source_table else self.topic


@attrs.frozen
class OnboardOptions:
    """A person's choices in addition to the topics.

    A template of names, the messages' format, a schema for messages without one, whether every change is to
    be kept, and the key columns.
    """

    name: str | None = None
    format: Format = "avro"
    schema: Path | None = None
    append: bool = False
    key: tuple[str, ...] = ()
    merge: bool = False
    """Whether topics that would become the same table are its shards."""
    split: bool = False
    """Whether the topics hold several tables each."""
    exclude: tuple[str, ...] = ()
    """Globs over names of topics to leave alone."""
    check: bool = False
    """Whether to compare topics and files only: nothing is written."""
