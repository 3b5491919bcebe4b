"""Keys that Hudi could not distinguish, refused before anything is written."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

import attrs
from pyspark.sql import DataFrame

from ingest.compile.event import COORDINATES
from ingest.compile.evolve import TargetColumn
from ingest.compile.row_model import Coordinates
from ingest.compile.table import CompiledTable
from ingest.config.rules import suggest
from ingest.decode.keys import key_sql
from ingest.errors import DecodeError, EvolutionError, SchemaError, TableFileError
from ingest.hudi.keys import (
    check_key_types,
    unsafe_folders,
    unsafe_key_change,
    unsafe_partition_type,
    unsafe_texts,
)
from ingest.hudi.options import check_partitions
from ingest.names import SchemaId
from ingest.sql.template import ident, join, literal, sql
from ingest.sql.types import Simple, SparkType
from ingest.tables import Feed, TableConfig


def check_keys(
    table: TableConfig,
    keys: Sequence[TargetColumn],
    columns: Sequence[TargetColumn],
    present: Mapping[str, SparkType],
) -> None:
    """Refuse types that cannot be a record key or a partition, and changes of the keys of stored rows."""
    check_partitions(table, [key.name for key in keys])
    check_key_types(table.name, {key.name: str(key.spark) for key in keys})
    for key in keys:
        was = present.get(key.name)
        if was is not None and (reason := unsafe_key_change(str(was), str(key.spark))):
            raise EvolutionError(table.name, key.name, "key-changed", str(key.spark), str(was), todo=reason)
    kinds = {column.name: column.spark for column in (*keys, *columns)}
    for name in table.target.partition_by:
        kind = kinds.get(name, present.get(name))
        if kind is None:
            where = f"table {table.name}"
            raise SchemaError(where, f"$.{name}", "is not a column and cannot be a partition")
        if reason := unsafe_partition_type(str(kind)):
            raise SchemaError(f"table {table.name}", f"$.{name}", f"{kind} as partition: {reason}")


def check_key_texts(compiled: CompiledTable, met: AbstractSet[SchemaId]) -> None:
    """Refuse a key whose text depends on the schema that wrote it: a row would have two keys.

    `met` are the schemas of the batch and of all commits.
    """
    for name, kind in compiled.key_columns:
        versions = [v for v in compiled.value.column_versions if v.column == name and met & {*v.writers}]
        first, *others = dict.fromkeys(_spelling(version.mapped.semantic) for version in versions) or [""]
        if others and kind == Simple("string"):
            raise EvolutionError(
                compiled.table.name, name, "key-changed", others[0] or "text", first or "text",
                todo="The same value has another text as a record key: rows would be doubled. For a time of "
                f'day set [columns.{name}] time = "micros", and rebuild the table from its topic',
            )  # fmt: skip


_IN_MILLIS: Final = frozenset({"org.apache.kafka.connect.data.Time", "time-millis"})


def _spelling(semantic: str) -> str:
    """Return the semantic type that decides how a value is written as text, empty for plain text."""
    if semantic in _IN_MILLIS:
        return "io.debezium.time.Time"
    return semantic if semantic.startswith("io.debezium.time.") else ""


def with_key_rules(compiled: CompiledTable) -> CompiledTable:
    """Let a table reject keys that Hudi's text form cannot distinguish."""
    if compiled.key_source == Coordinates():
        return compiled
    kinds = {name: str(kind) for name, kind in compiled.key_columns}
    if compiled.model.has_versions:
        kinds |= dict(zip(COORDINATES, ("int", "bigint"), strict=True))
    rules = unsafe_texts(kinds, lambda name: key_sql(compiled, name), compiled.table.target.partition_by)
    return attrs.evolve(compiled, key_rules=rules)


def check_masked_names(compiled: CompiledTable) -> None:
    """Refuse the mask of a column that no schema has: a misspelled name would leave the values in clear.

    A partition column cannot have one either, by a tag: its values name folders.
    """
    for name in compiled.table.target.partition_by:
        if compiled.masks.get(name):
            problem = f"splits the table into folders, and a tag gives it the mask '{compiled.masks[name]}'"
            raise SchemaError(f"table {compiled.table.name}", f"$.{name}", problem)
    versions = (*compiled.key.column_versions, *compiled.value.column_versions)
    names = {version.origin for version in versions}
    for name, column in compiled.table.columns.items():
        if column.mask and name not in names:
            raise TableFileError(
                f"{compiled.table.name}.toml", f"columns.{name}.mask",
                "is not a column of any version of the schema, so nothing would be masked",
                suggest(name, names) or "Correct or remove it; [masking] tags mask columns to come",
            )  # fmt: skip


def refuse_folders(rows: DataFrame, feed: Feed, keys: Sequence[TargetColumn]) -> None:
    """Refuse rows with a partition value, outside the key, that is not safe as the name of a folder."""
    names = [name for name in feed.table.target.partition_by if name not in {key.name for key in keys}]
    kinds = {name: kind for name, kind in rows.dtypes if name in names}
    rules = unsafe_folders(names, kinds, ident)
    if not rules:
        return
    branches = (sql("when {unsafe} then {why}", unsafe=unsafe, why=literal(why)) for unsafe, why in rules)
    reason = sql("case {branches} end", branches=join(" ", branches)).alias("reason")
    unsafe = rows.selectExpr("_cdc_partition", "_cdc_offset", str(reason)).where("reason is not null")
    for row in unsafe.orderBy("_cdc_partition", "_cdc_offset").limit(1).collect():
        raise DecodeError(feed.topic, row["_cdc_partition"], row["_cdc_offset"], row["reason"])
