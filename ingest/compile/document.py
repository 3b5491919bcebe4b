"""Documents: a row that is one JSON text, and the columns that a table file takes out of it."""

from collections.abc import Sequence

import attrs

from ingest.compile.column_versions import ColumnVersion
from ingest.names import SchemaId
from ingest.tables import TableConfig
from ingest.typemap.column import Mapped
from ingest.typemap.sparktype import Simple, SparkType, literal, parse_ddl

DOCUMENT = "doc"
"""The column that holds the whole document, as Extended JSON."""


@attrs.frozen
class Derived:
    """A column made of the document, `{doc}`; `fault` is SQL that is true where it cannot be made."""

    name: str
    spark: SparkType
    sql: str
    fault: str


def compile_document(schema_ids: Sequence[SchemaId]) -> tuple[ColumnVersion, ...]:
    """Return the one column of a row that every schema writes in the same way."""
    mapped = Mapped("io.debezium.data.Json", "string", Simple("string"), "string")
    return (ColumnVersion(DOCUMENT, "after", DOCUMENT, mapped, tuple(schema_ids)),)


def document_key(column_versions: Sequence[ColumnVersion]) -> tuple[ColumnVersion, ...]:
    """Read key columns as JSON text whose spelling differs between connector versions."""
    sql, fault = "ingest_document_key({c})", "{c} is not null and {out} is null"
    return tuple(
        attrs.evolve(v, mapped=attrs.evolve(v.mapped, sql=sql, fault=fault)) for v in column_versions
    )


def derived_columns(table: TableConfig) -> tuple[Derived, ...]:
    """Return the columns that the table file declares over the document."""
    return tuple(_derive(name, column.path, column.type) for name, column in table.document.columns.items())


def _derive(name: str, path: str, ddl: str) -> Derived:
    text = f"ingest_document_value({{doc}}, {literal(path)})"
    kind = parse_ddl(ddl)
    if kind == Simple("string"):
        return Derived(name, kind, text, "")
    value = f"try_cast({text} as {kind})"
    return Derived(name, kind, value, f"{text} is not null and {value} is null")
