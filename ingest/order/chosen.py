"""Rows by the condition of the table file, after the newest change of each key is decided and complete.

A change that loses was compared by position before, so it cannot bring a row back, whatever it satisfies.
"""

from collections.abc import Sequence
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.evolve import TargetColumn
from ingest.compile.table import CompiledTable
from ingest.order.changes import Changes
from ingest.order.columns import select
from ingest.order.version_values import lacking_sql
from ingest.sql.template import Sql, ident, join, literal, sql, written
from ingest.sql.types import cast

OUTSIDE: Final = "_ingest_outside"
"""Whether a row is outside the condition."""
INCOMPLETE: Final = "_ingest_incomplete"
"""The columns whose values neither the batch nor the table has, or null for a row that is complete."""


def incomplete_sql(compiled: CompiledTable, columns: Sequence[TargetColumn], *, is_joined: bool) -> Sql:
    """Return the column INCOMPLETE, over changes, for the columns that an update may leave out.

    `is_joined` says whether the changes have the stored rows.
    """
    if not compiled.may_be_partial or not columns:
        return sql("cast(null as array<string>)").alias(INCOMPLETE)
    missing = join(", ", (_missing_name(compiled, column) for column in columns))
    return sql(
        "if(newest.op != 'd' and base is null and later is not null and {stored}, "
        "array_compact(array({missing})), null)",
        stored=sql("stored is null" if is_joined else "true"),
        missing=missing,
    ).alias(INCOMPLETE)


def _missing_name(compiled: CompiledTable, column: TargetColumn) -> Sql:
    """Return the name of a column that no event of a key has a value of, else null."""
    lacks = lacking_sql(compiled, column, sql("e.row")) or sql("false")
    return sql("if(forall(later, e -> {lacks}), {name}, null)", lacks=lacks, name=literal(column.name))


def mark_outside(rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Add the column OUTSIDE if the table file has a condition."""
    if compiled.table.rows.where is None:
        return rows
    return rows.selectExpr("*", str(outside_sql(compiled).alias(OUTSIDE)))


def outside_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for rows outside the table file's, and false for deletes."""
    where = written(compiled.table.rows.where or "true")
    is_change = sql("true") if compiled.model.is_log else sql("_cdc_op != 'd'")
    return sql("{is_change} and not coalesce({where}, false)", is_change=is_change, where=where)


def count_outside(rows: DataFrame) -> int:
    """Count the rows with the mark OUTSIDE, in a job if they have the column."""
    return int(rows.agg(F.count_if(OUTSIDE)).collect()[0][0]) if OUTSIDE in rows.columns else 0


def computed_rows(rows: DataFrame, changes: Changes) -> DataFrame:
    """Return rows with the columns that the table file computes.  A row that only deletes has nulls."""
    expressions, model = changes.compiled.table.computed, changes.compiled.model
    if not expressions:
        return rows
    types = {column.name: column.spark for column in changes.evolution.columns}
    deletes = sql("false" if model.is_log or model.marks_deletes else "_cdc_op = 'd'")
    value = sql("if({deletes}, null, {value})", deletes=deletes)
    values = {name: value.of(value=cast(written(text), types[name])) for name, text in expressions.items()}
    return select(rows, {name: values.get(name, ident(name)) for name in rows.columns})
