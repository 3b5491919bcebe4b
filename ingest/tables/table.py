"""A table file's content as values, with the rules of each key beyond its type.

The `help` of each field is its entry in docs/reference/table-file.md and its comment in new table files.
"""

from collections.abc import Iterable
from typing import Literal

import attrs

from ingest.config.rules import Between, WrongValueError, not_empty
from ingest.names import Subject, Topic
from ingest.tables.column import Column, Rows
from ingest.tables.defaults import Origins
from ingest.tables.evolution import Kind, Policy, policy_of
from ingest.tables.framing import CONFLUENT, Framing, check_framings
from ingest.tables.freshness import Freshness
from ingest.tables.key import Key
from ingest.tables.rejects import Rejects
from ingest.tables.rules import (
    check_column_type,
    check_hudi_options,
    check_path,
    check_policies,
    check_table_name,
    check_topic,
    is_column_name,
)
from ingest.tables.shards import Shards, check_shards, check_topics
from ingest.tables.source_table import check_source_table
from ingest.tables.target import Target
from ingest.tables.types import Types

DialectName = Literal["sqlserver", "oracle", "mongodb", "postgres", "mysql", "cdl", "record"]
Format = Literal["avro", "debezium-json", "cdl-json"]


@attrs.frozen(kw_only=True)
class Subjects:
    """The registry subjects of a topic.  None if no registry holds the schema of keys or of values."""

    key: Subject | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={"help": "Subject of the keys. Without it, `[key] columns` names the row's key columns."},
    )
    value: Subject | None = attrs.field(
        default=None, validator=not_empty, metadata={"help": "Subject of the values. Required for Avro."}
    )


@attrs.frozen
class DocumentColumn:
    """A column taken from a document: the value at a path such as `$.a.b[0]`, as a Spark type."""

    path: str = attrs.field(validator=check_path)
    type: str = attrs.field(default="string", validator=check_column_type)


@attrs.frozen
class Document:
    """The columns next to the document itself, by name (MongoDB)."""

    columns: dict[str, DocumentColumn] = attrs.field(
        factory=dict,
        metadata={
            "help": "Section `[document.columns]`, a line per column: "
            '`city = { path = "$.address.city", type = "string" }`. A path is fixed once the table has the '
            "column."
        },
    )

    def __attrs_post_init__(self) -> None:
        for name in self.columns:
            if not is_column_name(name):
                problem = "is not a column name; allowed: letters, digits and '_'"
                raise WrongValueError(f"columns.{name}", problem)


@attrs.frozen
class TableConfig:
    """One table file.  `name` is the file's key `table`."""

    name: str = attrs.field(
        validator=check_table_name,
        metadata={
            "key": "table",
            "help": "Name of the table, and of its folder in the lake: letters, digits and `_`.",
        },
    )
    topic: Topic = attrs.field(validator=check_topic, metadata={"help": "The Kafka topic."})
    dialect: DialectName = attrs.field(
        metadata={
            "help": "The connector that wrote the events, which decides their order. `record`: plain "
            "records, mode `append` only."
        }
    )
    subjects: Subjects = attrs.field(
        default=Subjects(),
        metadata={
            "help": "The registry subjects with the schemas of the topic's keys and values. Of several "
            "topics: with `{topic}` for the topic."
        },
    )
    topics: tuple[Topic, ...] = attrs.field(
        default=(),
        validator=check_topics,
        metadata={
            "help": "Several topics of one table, such as shards of a database, in place of `topic`: names, "
            "or patterns such as `shard*.inv.orders`. See [Shards](../shards.md)."
        },
    )
    source_table: str | None = attrs.field(
        default=None,
        metadata={
            "help": "The source table to read from a topic of several tables: its name in the events, such "
            "as `server1.inv.orders`. Fixed at creation: see [Split topics](../split.md)."
        },
    )
    shards: Shards = attrs.field(default=Shards(), metadata={"help": "How several topics live in one table."})
    format: Format = attrs.field(default="avro", metadata={"help": "Format of the messages."})
    framings: tuple[Framing, ...] = attrs.field(
        default=CONFLUENT,
        validator=check_framings,
        metadata={
            "expert": True,
            "help": "How Avro messages name the schema that wrote them. Messages of other framings are "
            "rejected. [Registries](../registries.md) describes each.",
        },
    )
    schema: str | None = attrs.field(
        default=None,
        validator=not_empty,
        metadata={
            "help": "File with the schema of JSON messages that neither hold it nor have one in a registry."
        },
    )
    schema_changes: Topic | None = attrs.field(
        default=None,
        metadata={"help": "The connector's topic of schema changes, which `ingest status` shows."},
    )
    epoch: int = attrs.field(
        default=0,
        validator=Between(0, 9999),
        metadata={
            "expert": True,
            "help": "First part of every change's position: raise it after the source was "
            "re-created. 0 to 9999.",
        },
    )
    key: Key = attrs.field(default=Key(), metadata={"help": "The record key."})
    target: Target = attrs.field(
        default=Target(),
        metadata={
            "help": "The Hudi table. All keys but `also`, `compact_at`, `delete`, `first_load`, "
            "`retain_commits`, `retain_hours` and `truncate` are fixed when the table is created."
        },
    )
    types: Types = attrs.field(
        default=Types(),
        metadata={"help": "How types without a Spark equivalent are stored. No default loses data silently."},
    )
    columns: dict[str, Column] = attrs.field(
        factory=dict,
        metadata={
            "help": "Single columns: type, time, nanos, out_of_range, rename, exclude, mask or sql.",
            "example": '[columns.amount]\ntype = "decimal(20,4)"',
        },
    )
    rows: Rows = attrs.field(
        default=Rows(), metadata={"help": "The rows that the table holds, by default all."}
    )
    document: Document = attrs.field(
        default=Document(), metadata={"help": "MongoDB: columns next to the document itself."}
    )
    evolution: dict[str, str] = attrs.field(
        factory=dict,
        validator=check_policies,
        metadata={
            "help": "Policy per kind of schema change: `evolve`, `ignore`, `reject` or `fail`. "
            "[Schema changes](../schema-changes.md) lists the kinds and the defaults.",
            "example": 'column-dropped = "fail"',
        },
    )
    rejects: Rejects = attrs.field(
        default=Rejects(),
        metadata={
            "help": "How many records a run may reject. Above either limit it fails and commits nothing."
        },
    )
    freshness: Freshness = attrs.field(
        default=Freshness(), metadata={"help": "How far the table may be behind its topic."}
    )
    hudi: dict[str, str] = attrs.field(
        factory=dict,
        validator=check_hudi_options,
        metadata={
            "help": 'Hudi options, such as `"hoodie.parquet.compression.codec" = "gzip"`. '
            "Options that `ingest` sets itself are refused."
        },
    )
    origins: Origins = attrs.field(default=Origins(), eq=False, repr=False, metadata={"in_file": False})
    """Where the values come from."""

    def __attrs_post_init__(self) -> None:
        check_shards(self)
        check_source_table(self)
        if self.format == "avro" and self.subjects.value is None:
            raise WrongValueError("subjects.value", "is missing")
        if self.format != "avro" and self.framings != CONFLUENT:
            raise WrongValueError("framings", f"is only for Avro, and format is '{self.format}'", "Remove it")
        if self.dialect == "record" and self.target.mode != "append":
            raise WrongValueError(
                "target.mode", "plain records have no order of changes", 'Set it to "append"'
            )
        if self.target.mode == "history" and self.target.delete == "soft":
            problem = "a history keeps deleted rows as versions with an end"
            raise WrongValueError("target.delete", problem, 'Set it to "hard"')
        if "iceberg" in self.target.also and self.target.type != "cow":
            problem = "an Iceberg table has base files alone, and type 'mor' keeps changes in log files"
            raise WrongValueError("target.also", problem, 'Set target.type to "cow", or remove "iceberg"')
        if self.rows.source_where is not None and self.rows.where is None:
            raise WrongValueError("rows.source_where", "repeats rows.where, which is missing", "Set both")
        _check_excluded("key.columns", self.key.columns, self.columns)
        _check_excluded("target.partition_by", self.target.partition_by, self.columns)
        _check_renamed(self.columns)
        _check_masks(self)
        _check_computed(self)

    @property
    def computed(self) -> dict[str, str]:
        """The SQL of the computed columns, by column."""
        return {name: column.sql for name, column in self.columns.items() if column.sql is not None}

    def policy(self, kind: Kind) -> Policy:
        """Return the policy for a kind of change."""
        return policy_of(self.evolution, kind)


def _check_excluded(key: str, names: Iterable[str], columns: dict[str, Column]) -> None:
    for name in names:
        if name in columns and columns[name].exclude:
            raise WrongValueError(key, f"names the column '{name}', which is excluded")


def _check_masks(table: TableConfig) -> None:
    """Refuse masks that would merge keys, name folders, or leave the values in a document."""
    for name, column in table.columns.items():
        if column.mask is None:
            continue
        key = f"columns.{name}.mask"
        if table.dialect == "mongodb":
            raise WrongValueError(
                key, "the document in the column `doc` would hold the value too", "Remove it"
            )
        stored = column.rename or name
        if column.mask != "hash" and {name, stored} & set(table.key.columns):
            problem = f"'{column.mask}' would merge rows of different keys"
            raise WrongValueError(key, problem, 'A key can have the mask "hash"')
        if {name, stored} & set(table.target.partition_by):
            raise WrongValueError(key, "the column splits the table into folders by its values", "Remove it")


def _check_computed(table: TableConfig) -> None:
    """Refuse computed columns with names that no table can hold, and as keys or partitions."""
    for name, column in table.columns.items():
        if column.sql is None:
            continue
        if not is_column_name(name):
            raise WrongValueError(f"columns.{name}", "is not a column name; allowed: letters, digits and '_'")
        for key, names in (
            ("key.columns", table.key.columns),
            ("target.partition_by", table.target.partition_by),
        ):
            if name in names:
                raise WrongValueError(key, f"names the column '{name}', which is computed")


def _check_renamed(columns: dict[str, Column]) -> None:
    """Refuse two columns with one new name.  Spark ignores the case of names."""
    renamed: dict[str, str] = {}
    for name, column in columns.items():
        if column.rename is None:
            continue
        first = renamed.setdefault(column.rename.lower(), name)
        if first != name:
            problem = f"'{column.rename}' is also the new name of column '{first}'"
            raise WrongValueError(f"columns.{name}.rename", problem)
