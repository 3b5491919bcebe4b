"""The SQL of a table file, fitted to a batch: checked, typed, and given the columns that it reads."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ingest.compile.document import DOCUMENT
from ingest.compile.evolve import TargetColumn
from ingest.errors import DecodeError, EvolutionError, TableFileError
from ingest.names import SchemaId
from ingest.order.chosen import INCOMPLETE, OUTSIDE
from ingest.run.batch.prepared_batch import PreparedBatch
from ingest.spark.java import java_session, jvm_of
from ingest.spark.java_errors import root_cause
from ingest.sql.names import folded
from ingest.sql.template import ident, join, sql
from ingest.sql.types import SparkType, parse_ddl, type_sql, widest

_STORED_AS: Final = {"tinyint": "int", "smallint": "int"}
"""Hudi stores these as `int`."""
_UNSTORABLE: Final = frozenset({"void", "interval", "variant"})


@attrs.frozen
class RowSql:
    """One expression of a table file, at its key.  `spark_type` is DDL, `reads` the columns that it names."""

    key: str
    spark_type: str
    reads: tuple[str, ...]


def with_row_sql(spark: SparkSession, batch: PreparedBatch) -> PreparedBatch:
    """Check the SQL of the table file, and add the columns that it reads and the batch lacks, as nulls.

    Raises `TableFileError` for SQL that is not a function of one row, and `EvolutionError` if a new version
    drops a column that it reads.
    """
    table = batch.compiled.table
    if (table.rows.where is None and not table.computed) or batch.evolution.failing:
        return batch
    columns = _columns(batch)
    computed = [
        _examine(spark, batch, f"columns.{name}.sql", text, columns) for name, text in table.computed.items()
    ]
    new = tuple(map(partial(_computed_column, batch), table.computed, computed))
    reads = [name for expression in computed for name in expression.reads]
    if table.rows.where is not None:
        condition = _examine(spark, batch, "rows.where", table.rows.where, columns)
        if condition.spark_type != "boolean":
            raise _error(batch, condition.key, f"is a {condition.spark_type}, and a condition is a boolean")
        batch = attrs.evolve(batch, condition_reads=condition.reads)
        reads += condition.reads
    evolution = batch.evolution
    present = {column.name for column in (*evolution.keys, *evolution.columns)}
    missing = [TargetColumn(name, columns[name]) for name in reads if name not in present]
    return batch.with_columns((*missing, *new))


def _computed_column(batch: PreparedBatch, name: str, expression: RowSql) -> TargetColumn:
    """Return a computed column in its type, or the wider one that the table has.

    Raises `TableFileError` for the name of another column, or a type that a table cannot hold.
    """
    names = {folded(column) for column in batch.compiled.value.columns()}
    names |= {folded(column) for column, _ in batch.compiled.key_columns}
    if folded(name) in names:
        raise _error(
            batch, expression.key, "is a column of the source", "Give the computed column another name"
        )
    try:
        spark_type = parse_ddl(_STORED_AS.get(expression.spark_type, expression.spark_type))
    except ValueError:
        spark_type = None
    if spark_type is None or str(spark_type) in _UNSTORABLE:
        raise _error(
            batch, expression.key, f"is a {expression.spark_type}", "Cast it to a type of table files"
        )
    stored = (batch.state.columns or {}).get(name)
    wider = spark_type if stored is None else widest(stored, spark_type)
    if wider is None or (stored is not None and wider != stored):
        problem = f"is a {spark_type} now, and the table has a {stored}"
        raise _error(batch, expression.key, problem, f"Cast it: `cast(… as {stored})` in a new table")
    return TargetColumn(name, wider)


def check_computed(rows: DataFrame, batch: PreparedBatch) -> None:
    """Evaluate the computed columns of all rows.  Raises `TableFileError` if an expression fails."""
    table = batch.compiled.table
    if not table.computed:
        return
    try:
        rows.agg(*(F.count(str(ident(name))) for name in table.computed)).collect()
    except (Py4JJavaError, PySparkException) as error:
        keys = ", ".join(f"columns.{name}.sql" for name in table.computed)
        raise _error(batch, keys, f"fails for a row: {root_cause(error)}") from error


def _columns(batch: PreparedBatch) -> dict[str, SparkType]:
    """Return the row's own columns: of the batch, of other versions, and of the table."""
    evolution, present = batch.evolution, batch.state.columns or {}
    versions = batch.compiled.value.columns()
    columns = {
        **{name: types[-1].mapped.spark for name, types in versions.items()},
        **{name: stored for name, stored in present.items() if not name.startswith("_cdc_")},
        **{column.name: column.spark for column in (*evolution.keys, *evolution.columns)},
    }
    return {name: column for name, column in columns.items() if name not in batch.compiled.table.computed}


def _examine(
    spark: SparkSession, batch: PreparedBatch, key: str, text: str, columns: Mapping[str, SparkType]
) -> RowSql:
    ddl = join(", ", (sql("{name} {type}", name=ident(n), type=type_sql(t)) for n, t in columns.items()))
    jvm = jvm_of(spark)
    struct = jvm.org.apache.spark.sql.types.StructType.fromDDL(str(ddl))
    problem, *answer = jvm.io.hudicdc.ingest.spark.RowSql.examine(java_session(spark), struct, text)
    if problem:
        raise _error(batch, key, str(problem))
    spark_type, *reads = map(str, answer)
    expression = RowSql(key, spark_type, tuple(reads))
    _check_reads(batch, expression)
    return expression


def _check_reads(batch: PreparedBatch, expression: RowSql) -> None:
    """Refuse masked columns, and those that a version of the batch has dropped."""
    masks = batch.compiled.masks
    for name in expression.reads:
        if masks.get(name):
            raise _error(batch, expression.key, f"reads {name}, whose values are masked")
        label = _dropped_by(batch, name, batch.counts.schema_ids)
        if label:
            spark_type = str(_columns(batch)[name])
            todo = f"`{expression.key}` of the table file reads it. Load a new table with other SQL"
            raise EvolutionError(
                batch.compiled.table.name, name, "column-dropped", "", spark_type, label, todo
            )


def _dropped_by(batch: PreparedBatch, name: str, seen: Sequence[SchemaId]) -> str:
    """Return the first version of a batch that lacks a column which an earlier version had."""
    payload = batch.compiled.value
    having = {schema_id for v in payload.columns().get(name, ()) for schema_id in v.writers}
    if name in {key for key, _ in batch.compiled.key_columns} or batch.compiled.derived:
        return ""
    born = min((w.version for w in payload.writers if w.schema_id in having), default=0)
    lacking = (
        w for w in payload.writers if w.schema_id in seen and w.schema_id not in having and w.version >= born
    )
    return next((writer.label for writer in lacking), "")


def check_complete(marked: DataFrame, batch: PreparedBatch) -> None:
    """Refuse rows with missing values that are inside the condition, or for which these decide it.

    Raises `DecodeError` for the first one.
    """
    table, derived = batch.compiled.table, {column.name for column in batch.compiled.derived}
    reads = {DOCUMENT if name in derived else name for name in batch.condition_reads}
    undecided = F.arrays_overlap(INCOMPLETE, F.array(*map(F.lit, sorted(reads))))
    unsure = marked.where((F.size(INCOMPLETE) > 0) & (undecided | ~F.col(OUTSIDE)))
    unsure = unsure.select("_cdc_partition", "_cdc_offset", INCOMPLETE)
    for row in unsure.orderBy("_cdc_partition", "_cdc_offset").limit(1).collect():
        problem = (
            f"value: the update leaves out {', '.join(row[INCOMPLETE])}, which did not change, and the table "
            "has no values of a row that was outside the condition of [rows] where. Ask the connector for all"
            f" of the row by an incremental snapshot (`ingest signal execute-snapshot {table.name}`), or "
            'load a new table with [target] delete = "soft", which keeps these values'
        )
        raise DecodeError(batch.compiled.feed.topic, row["_cdc_partition"], row["_cdc_offset"], problem)


def _error(batch: PreparedBatch, key: str, problem: str, todo: str = "") -> TableFileError:
    allowed = "Write a deterministic expression of Spark SQL over the row's own columns"
    return TableFileError(f"{batch.compiled.table.name}.toml", key, problem, todo or allowed)
