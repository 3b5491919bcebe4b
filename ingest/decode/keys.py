"""The key columns of a decoded message, from its key or from its row."""

from typing import Final, assert_never

from ingest.compile.column_versions import ColumnVersion
from ingest.compile.row_model import Coordinates, MessageKey, RowKey
from ingest.compile.table import CompiledTable
from ingest.sql.template import Sql, ident, join, literal, sql
from ingest.sql.types import reshape
from ingest.tables import SOURCE

KEY: Final = sql("keyed.value")
"""The decoded message key."""


def key_sql(compiled: CompiledTable, name: str) -> Sql:
    """Return a key column from the message key, or from the row image (the previous image of a deleted row).

    The topic of a table of several is a constant.
    """
    if name == SOURCE:
        return literal(compiled.feed.topic)
    if compiled.key_source == Coordinates():
        return ident(name.removeprefix("_cdc_"))
    spark_type = dict(compiled.key_columns)[name]
    values = [
        reshape(version.mapped.convert(value), version.mapped.spark, spark_type)
        for value, version in key_values(compiled, name)
    ]
    return sql("coalesce({values})", values=join(", ", values))


def key_values(compiled: CompiledTable, name: str) -> list[tuple[Sql, ColumnVersion]]:
    """Return the decoded values of a key column. The first value that is not null counts."""
    if name == SOURCE:
        return []
    match compiled.key_source:
        case Coordinates():
            return []
        case MessageKey():
            return [(KEY.field(version.field), version) for version in compiled.key.columns()[name]]
        case RowKey():
            return _values_in_row(compiled, name)
        case source:
            assert_never(source)


def _values_in_row(compiled: CompiledTable, name: str) -> list[tuple[Sql, ColumnVersion]]:
    """Return the values of a key column from the key-only fields, the row, and the previous row."""
    images = sorted(compiled.value.images, key=lambda image: image != compiled.form.unique_field)
    versions = compiled.value.columns()[name]
    return [(compiled.form.at(image).field(v.field), v) for image in images for v in versions]
