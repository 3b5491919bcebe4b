"""Rows by the condition of the table file, after the newest change of each key is decided and complete.

A change that loses was compared by position before, so it cannot bring a row back, whatever it satisfies.
"""

from collections.abc import Sequence
from typing import Final, assert_never

from pyspark.sql import DataFrame

from ingest.compile.event import DELETED
from ingest.compile.evolve import Evolution, TargetColumn
from ingest.compile.row_image import lacks_sql
from ingest.compile.row_model import Append, History, SoftDelete, Upsert
from ingest.compile.table import CompiledTable
from ingest.sql.template import Sql, any_true, ident, join, literal, sql, written
from ingest.sql.types import cast

OUTSIDE: Final = "_ingest_outside"
"""Whether a row is outside the condition."""
INCOMPLETE: Final = "_ingest_incomplete"
"""The columns whose values neither the batch nor the table has; null for a row that is complete."""
_KEPT: Final = ("_cdc_", "_hoodie_", "_ingest_")


def incomplete_sql(compiled: CompiledTable, columns: Sequence[TargetColumn], *, is_joined: bool) -> Sql:
    """Return the column INCOMPLETE, over changes; `columns` are those that an update may leave out.

    `is_joined` where the changes have the stored rows.
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
    lacks = any_true(filter(None, (lacks_sql(compiled, v, sql("e.row")) for v in column.sources)))
    return sql("if(forall(later, e -> {lacks}), {name}, null)", lacks=lacks, name=literal(column.name))


def mark_outside(rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Add the column OUTSIDE: false for deletes, true where the condition is false or null."""
    where = condition_sql(compiled)
    is_change = sql("true") if compiled.model == Append() else sql("_cdc_op != 'd'")
    outside = sql("{is_change} and not coalesce({where}, false)", is_change=is_change, where=where)
    return rows.selectExpr("*", str(outside.alias(OUTSIDE)))


def condition_sql(compiled: CompiledTable) -> Sql:
    """Return the condition of the table file."""
    return written(compiled.table.rows.where or "true")


def computed_rows(rows: DataFrame, compiled: CompiledTable, evolution: Evolution) -> DataFrame:
    """Return rows with the columns that the table file computes; null in a row that only deletes."""
    expressions = compiled.table.computed
    if not expressions:
        return rows
    types = {column.name: column.spark for column in evolution.columns}
    deletes = sql("_cdc_op = 'd'" if compiled.model in (Upsert(), History()) else "false")
    columns = {
        name: sql(
            "if({deletes}, null, {value})",
            deletes=deletes,
            value=cast(written(expressions[name]), types[name]),
        )
        if name in expressions
        else ident(name)
        for name in rows.columns
    }
    return rows.selectExpr(*(str(value.alias(name)) for name, value in columns.items()))


def chosen_rows(marked: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return marked rows as the table takes them.

    A row outside the condition deletes a stored one, by key and position only.  Where deleted rows stay, it
    stays as well, marked as deleted with its operation and all its values: they complete later changes.
    """
    names = [name for name in marked.columns if name not in (OUTSIDE, INCOMPLETE)]
    match compiled.model:
        case Append():
            return marked.where(str(sql("not {outside}", outside=ident(OUTSIDE)))).select(*names)
        case History():
            return marked.drop(OUTSIDE)  # `order.versions` has ended the versions of rows outside
        case Upsert():
            keys = {name for name, _ in compiled.key_columns}
            return marked.selectExpr(*(str(_deleted(name, keys)) for name in names))
        case SoftDelete():
            hidden = sql("{deleted} or {outside}", deleted=ident(DELETED), outside=ident(OUTSIDE))
            columns = {name: hidden if name == DELETED else ident(name) for name in names}
            return marked.selectExpr(*(str(value.alias(name)) for name, value in columns.items()))
        case model:
            assert_never(model)


def _deleted(name: str, keys: set[str]) -> Sql:
    """Return a column of a row that is deleted if it is outside."""
    if name == "_cdc_op":
        return sql("if({outside}, 'd', _cdc_op)", outside=ident(OUTSIDE)).alias(name)
    if name in keys or name.startswith(_KEPT):
        return ident(name)
    return sql("if({outside}, null, {c})", outside=ident(OUTSIDE), c=ident(name)).alias(name)
