"""One onboarded table, as a value and as a TOML file that people edit."""

from ingest.config.rules import WrongValueError
from ingest.tables.column import Column
from ingest.tables.defaults import Defaults, Origin, Origins, parse_defaults
from ingest.tables.evolution import Kind, Policy
from ingest.tables.feed import Feed, feed_of, feeds
from ingest.tables.file import GLOB_SIGNS, read, read_all, read_one, read_valid
from ingest.tables.framing import CONFLUENT, FRAMINGS, Framing, IdKind, id_kinds
from ingest.tables.key import Key
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
from ingest.tables.table import DialectName, Format, Subjects, TableConfig
from ingest.tables.target import Reader, Target
from ingest.tables.text import merge, render
from ingest.tables.types import Types
from ingest.tables.values import Value, values_of

__all__ = [
    "CONFLUENT",
    "FRAMINGS",
    "GLOB_SIGNS",
    "SOURCE",
    "SOURCE_FIELDS",
    "Column",
    "Defaults",
    "DialectName",
    "Feed",
    "Format",
    "Framing",
    "IdKind",
    "Key",
    "Kind",
    "Origin",
    "Origins",
    "Policy",
    "Reader",
    "Rejects",
    "Shards",
    "Subjects",
    "TableConfig",
    "Target",
    "Types",
    "Value",
    "WrongValueError",
    "clashes",
    "feed_of",
    "feeds",
    "full_name",
    "id_kinds",
    "is_pattern",
    "merge",
    "own_name",
    "parse_defaults",
    "read",
    "read_all",
    "read_one",
    "read_valid",
    "render",
    "source_fields",
    "table_name",
    "topic_of",
    "values_of",
]
