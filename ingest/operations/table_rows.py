"""Some rows of a table as text, for people."""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BinaryType, MapType, StructField, StructType

from ingest.compile.event import COORDINATES
from ingest.errors import UsageError
from ingest.hudi.lake import Lake
from ingest.settings import LakeSettings
from ingest.sql.template import ident, literal, sql
from ingest.sql.types import SparkType, type_sql
from ingest.tables import SOURCE, TableConfig

MOST_ROWS: Final = 10
"""Rows of a key, unless another number is asked for: a history has many."""
_NESTED: Final = (ArrayType, MapType, StructType)
_NEWEST: Final = (("_cdc_source_ts", "_cdc_position"), ("_cdc_position",))
"""The columns by which rows are new, of several topics and of one: positions compare within a topic."""


def read_rows(
    spark: SparkSession, lake: LakeSettings, table: TableConfig, limit: int, key: Sequence[str] = ()
) -> tuple[dict[str, str | None], ...]:
    """Read the newest rows of a table as texts, soft-deleted ones and versions of the past too.

    `key` names the rows of one key: its value, or `NAME=VALUE` for each of its columns.  Raises
    UsageError for a table without a commit, and for a key that does not fit.
    """
    stored = Lake(spark, lake).table(table)
    columns = stored.columns()
    if columns is None:
        raise UsageError(f"table {table.name} has no commit yet", f"Run `ingest run {table.name}`")
    rows = stored.rows()
    if key:
        names = [name for name in stored.key_columns() if name not in (SOURCE, *COORDINATES)]
        rows = _of_key(rows, table.name, columns, _parse_key(key, names))
    newest = _NEWEST[0] if SOURCE in columns else _NEWEST[1]
    first = rows.orderBy(*(F.col(name).desc_nulls_last() for name in newest)).limit(limit)
    texts = first.select(*map(_text, first.schema.fields))
    return tuple(row.asDict() for row in texts.collect())


def _parse_key(key: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Return the value of each key column.  Raises UsageError for another column, and for a missing one."""
    if not names:
        raise UsageError("--key: the table has no key: it keeps every change", "Show rows with --rows")
    parts = [_named(text, names) for text in key]
    values = dict(parts)
    if values.keys() != set(names) or len(parts) != len(names):
        wanted = " ".join(f"--key {name}=VALUE" for name in names)
        raise UsageError(f"--key {' --key '.join(key)}: the key is {', '.join(names)}", f"Give {wanted}")
    return values


def _named(text: str, names: Sequence[str]) -> tuple[str, str]:
    """Split `NAME=VALUE`.  A bare value is one of the only key column."""
    name, sign, value = text.partition("=")
    return (name, value) if sign and (name in names or len(names) > 1) else (names[0], text)


def _of_key(
    rows: DataFrame, table: str, columns: Mapping[str, SparkType], values: Mapping[str, str]
) -> DataFrame:
    for name, value in values.items():
        kind = columns[name]
        typed = sql("try_cast({value} as {kind})", value=literal(value), kind=type_sql(kind))
        if rows.sparkSession.range(1).where(str(sql("{typed} is null", typed=typed))).count():
            raise UsageError(f"--key {name}={value}: not a {kind}, the type of {name} in table {table}")
        rows = rows.where(str(sql("{column} = {typed}", column=ident(name), typed=typed)))
    return rows


def _text(field: StructField) -> Column:
    """Write a column as text: nested values as JSON, bytes as hexadecimal digits."""
    column = F.col(str(ident(field.name)))
    match field.dataType:
        case BinaryType():
            text = F.hex(column)
        case kind if isinstance(kind, _NESTED):
            text = F.to_json(column)
        case _:
            text = column.cast("string")
    return text.alias(field.name)
