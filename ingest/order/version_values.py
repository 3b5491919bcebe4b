"""The values of versions: each change with the values that it lacked, from the version before.

A change says which values it lacked, in the column `_cdc_partial`: a change that comes late, between it and
the version that gave them, gives others.
"""

from collections.abc import Iterable
from typing import Final, assert_never

from pyspark.sql import DataFrame

from ingest.compile.document import DOCUMENT
from ingest.compile.event import PARTIAL
from ingest.compile.evolve import TargetColumn
from ingest.compile.row_image import UPDATE_FIELDS, lacks_sql
from ingest.compile.row_model import Columns, Document
from ingest.compile.table import CompiledTable
from ingest.order.changes import Changes
from ingest.spark.java import select_expr
from ingest.sql.template import Sql, any_true, ident, join, literal, sql, struct
from ingest.sql.types import Simple, null_of

LACKS: Final = "_ingest_lacks"
"""The names of the columns that a change lacked, or null for a whole one."""
LOST: Final = "_ingest_lost"
"""Whether no version before has the values that a change lacked."""
_ROW: Final = sql("newest.row")
_FILLED: Final = "_ingest_filled_"
_CHAIN: Final = "_ingest_chain"
_WHOLE: Final = "_ingest_whole"
_UPDATE_DDL: Final = literal(
    "updatedFields string, removedFields array<string>, truncatedArrays array<struct<field:string,size:int>>"
)
_NO_DOCUMENT: Final = null_of(Simple("string"))


def filled_columns(changes: Changes) -> tuple[TargetColumn, ...]:
    """Return the columns that a change may lack, of this batch or of stored versions."""
    compiled = changes.compiled
    names = {
        name
        for name, versions in compiled.value.columns().items()
        if any(lacks_sql(compiled, version, sql("row")) for version in versions)
    }
    columns = changes.evolution.columns
    return tuple(c for c in columns if c.name in names or lacking_sql(compiled, c, _ROW))


def is_partial_sql(compiled: CompiledTable) -> Sql:
    """Return a condition that is true for an event whose row lacks a value, and never null."""
    lacks = [lacks_sql(compiled, version, _ROW) for version in compiled.row_variants]
    return sql("(newest.op != 'd' and {lacks})", lacks=any_true(filter(None, lacks)))


def lacking_sql(compiled: CompiledTable, column: TargetColumn, row: Sql) -> Sql | None:
    """Return a condition that is true if an event's row lacks a column, or None if it never does."""
    lacks = [lacks_sql(compiled, version, row) for version in column.sources]
    found = [condition for condition in lacks if condition]
    return any_true(found) if found else None


def partial_of(compiled: CompiledTable, columns: Iterable[TargetColumn]) -> Sql:
    """Return the column `_cdc_partial` of an event."""
    match compiled.image:
        case Columns():
            return _names_lacking(compiled, columns).alias(PARTIAL)
        case Document():
            update = sql("newest.op != 'd' and {doc} is null", doc=_ROW.field(DOCUMENT))
            parts = struct((field, _ROW.field(field)) for field in UPDATE_FIELDS)
            text = sql("if({update}, to_json({parts}), null)", update=update, parts=parts)
            return text.alias(PARTIAL)
        case image:
            assert_never(image)


def _names_lacking(compiled: CompiledTable, columns: Iterable[TargetColumn]) -> Sql:
    lacks = {column.name: lacking_sql(compiled, column, _ROW) for column in columns}
    present = {name: condition for name, condition in lacks.items() if condition}
    if not present:
        return sql("cast(null as string)")
    names = (sql("if({lacks}, {name}, null)", lacks=c, name=literal(n)) for n, c in present.items())
    return sql(
        "if(newest.op != 'd' and {any}, to_json(array_compact(array({names}))), null)",
        any=any_true(present.values()),
        names=join(", ", names),
    )


def value_of(compiled: CompiledTable, column: TargetColumn) -> Sql:
    """Return the value of a column in an event, or null if it lacks one."""
    value, lacks = column.value(_ROW), lacking_sql(compiled, column, _ROW)
    return sql("if({lacks}, null, {value})", lacks=lacks, value=value) if lacks else value


def stored_value(compiled: CompiledTable, column: TargetColumn, value: Sql) -> Sql:
    """Return the value of a column in a stored version, or null if its change lacked one."""
    match compiled.image:
        case Columns():
            lacks = sql("array_contains({names}, {name})", names=_names(), name=literal(column.name))
        case Document():
            lacks = sql("{partial} is not null", partial=ident(PARTIAL))
        case image:
            assert_never(image)
    return sql("if(coalesce({lacks}, false), null, {value})", lacks=lacks, value=value)


def _names() -> Sql:
    return sql("from_json({partial}, 'array<string>')", partial=ident(PARTIAL))


def fill(
    rows: DataFrame, compiled: CompiledTable, columns: tuple[TargetColumn, ...], order: Sql
) -> DataFrame:
    """Add the values that changes lacked, and the column LOST.

    `order` is the window of a key's changes.  A version after a delete has no older values.
    """
    if not columns:
        return rows.selectExpr("*", str(sql("false").alias(LOST)))
    match compiled.image:
        case Columns():
            return _fill_columns(rows, columns, order)
        case Document():
            return _fill_documents(rows, compiled, order)
        case image:
            assert_never(image)


def _fill_columns(rows: DataFrame, columns: tuple[TargetColumn, ...], order: Sql) -> DataFrame:
    newest = {column.name: f"{_FILLED}{index}" for index, column in enumerate(columns)}
    with_names = rows.selectExpr("*", str(_names().alias(LACKS)))
    filled = [_newest_value(column, order).alias(newest[column.name]) for column in columns]
    values = [
        ident(newest[name]).field("v").alias(name) if name in newest else ident(name) for name in rows.columns
    ]
    lost = any_true(
        sql("{lacks} and {value} is null", lacks=_lacks(column), value=ident(newest[column.name]))
        for column in columns
    )
    with_newest = select_expr(with_names, "*", *map(str, filled))
    return select_expr(with_newest, *map(str, values), str(lost.alias(LOST)))


def _newest_value(column: TargetColumn, order: Sql) -> Sql:
    """Return the newest value of a column that a change up to this one has, in a struct."""
    return sql(
        "last(if({lacks}, null, named_struct('v', {value})), true) "
        "over ({order} rows between unbounded preceding and current row)",
        lacks=_lacks(column),
        value=ident(column.name),
        order=order,
    )


def _lacks(column: TargetColumn) -> Sql:
    return sql(
        "coalesce(array_contains({names}, {name}), false)", names=ident(LACKS), name=literal(column.name)
    )


def _fill_documents(rows: DataFrame, compiled: CompiledTable, order: Sql) -> DataFrame:
    """Apply the updates since the last whole document, in order."""
    keys = join(", ", (ident(name) for name, _ in compiled.key_columns))
    whole = sql(
        "count_if({partial} is null) over ({order} rows between unbounded preceding and current row)",
        partial=ident(PARTIAL),
        order=order,
    )
    numbered = rows.selectExpr("*", str(whole.alias(_WHOLE)))
    chain = sql(
        "collect_list(named_struct('doc', {doc}, 'partial', {partial})) over (partition by {keys}, {whole} "
        "order by _cdc_position, _cdc_partition rows between unbounded preceding and current row)",
        doc=ident(DOCUMENT),
        partial=ident(PARTIAL),
        keys=keys,
        whole=ident(_WHOLE),
    )
    chained = numbered.selectExpr("*", str(chain.alias(_CHAIN)))
    update = sql("from_json(e.partial, {ddl})", ddl=_UPDATE_DDL)
    parts = join(", ", (update.field(field) for field in UPDATE_FIELDS))
    document = sql(
        "aggregate({chain}, {null}, (old, e) -> "
        "if(e.partial is null, e.doc, ingest_document_update(old, {parts})))",
        chain=ident(_CHAIN),
        null=_NO_DOCUMENT,
        parts=parts,
    )
    values = [document.alias(name) if name == DOCUMENT else ident(name) for name in rows.columns]
    lost = sql("{partial} is not null and {whole} = 0", partial=ident(PARTIAL), whole=ident(_WHOLE))
    return select_expr(chained, *map(str, values), str(lost.alias(LOST)))
