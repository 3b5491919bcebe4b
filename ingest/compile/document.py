"""Documents: a row that is one JSON text, and the columns that a table file cuts out of it."""

from collections.abc import Sequence

import attrs

from ingest.compile.column_versions import ColumnVersion
from ingest.names import SchemaId
from ingest.sql.names import check_fields
from ingest.sql.template import Sql, literal, sql
from ingest.sql.types import Simple, SparkType, parse_ddl, type_sql
from ingest.tables import TableConfig
from ingest.typemap.column import Mapped

DOCUMENT = "doc"
"""The column that holds the whole document, as Extended JSON."""


@attrs.frozen
class Derived:
    """A column cut out of the document, `{doc}`.  `fault` is true if that fails, None if it cannot fail."""

    name: str
    spark: SparkType
    sql: Sql
    fault: Sql | None


def compile_document(schema_ids: Sequence[SchemaId]) -> tuple[ColumnVersion, ...]:
    """Return the one column of a row that every schema writes in the same way."""
    mapped = Mapped("io.debezium.data.Json", "string", Simple("string"), "string")
    return (ColumnVersion(DOCUMENT, "after", DOCUMENT, mapped, tuple(schema_ids)),)


def document_key(column_versions: Sequence[ColumnVersion]) -> tuple[ColumnVersion, ...]:
    """Read key columns as JSON text: its spelling differs between connector versions."""
    key, fault = sql("ingest_document_key({c})"), sql("{c} is not null and {out} is null")
    return tuple(
        attrs.evolve(v, mapped=attrs.evolve(v.mapped, sql=key, fault=fault)) for v in column_versions
    )


def derived_columns(table: TableConfig) -> tuple[Derived, ...]:
    """Return the columns that the table file declares over the document.  Raises `SchemaError`."""
    columns = table.document.columns
    check_fields([DOCUMENT, *columns], f"table {table.name}", "document.columns")
    return tuple(_derive(name, column.path, column.type) for name, column in columns.items())


def _derive(name: str, path: str, ddl: str) -> Derived:
    text = sql("ingest_document_value({doc}, {path})", path=literal(path))
    spark_type = parse_ddl(ddl)
    if spark_type == Simple("string"):
        return Derived(name, spark_type, text, None)
    value = sql("try_cast({text} as {type})", text=text, type=type_sql(spark_type))
    fault = sql("{text} is not null and {value} is null", text=text, value=value)
    return Derived(name, spark_type, value, fault)
