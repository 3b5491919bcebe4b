"""One onboarded table, as a value and as a TOML file that people edit."""

from ingest.config.rules import WrongValueError
from ingest.tables.column import Column
from ingest.tables.evolution import Kind, Policy
from ingest.tables.feed import Feed, feed_of, feeds
from ingest.tables.file import GLOB_SIGNS, read, read_all, read_one, read_valid
from ingest.tables.framing import CONFLUENT, FRAMINGS, Framing, IdKind, id_kinds
from ingest.tables.naming import clashes, table_name
from ingest.tables.rejects import Rejects
from ingest.tables.shards import SOURCE, Shards, is_pattern
from ingest.tables.source_table import (
    SOURCE_FIELDS,
    full_name,
    own_name,
    source_fields,
    topic_of,
)
from ingest.tables.table import (
    DialectName,
    Format,
    Key,
    Subjects,
    TableConfig,
    Types,
)
from ingest.tables.target import Target
from ingest.tables.text import merge, render

__all__ = [
    "CONFLUENT",
    "FRAMINGS",
    "GLOB_SIGNS",
    "SOURCE",
    "SOURCE_FIELDS",
    "Column",
    "DialectName",
    "Feed",
    "Format",
    "Framing",
    "IdKind",
    "Key",
    "Kind",
    "Policy",
    "Rejects",
    "Shards",
    "Subjects",
    "TableConfig",
    "Target",
    "Types",
    "WrongValueError",
    "clashes",
    "feed_of",
    "feeds",
    "full_name",
    "id_kinds",
    "is_pattern",
    "merge",
    "own_name",
    "read",
    "read_all",
    "read_one",
    "read_valid",
    "render",
    "source_fields",
    "table_name",
    "topic_of",
]
