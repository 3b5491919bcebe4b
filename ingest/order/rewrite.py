"""The whole table after a batch: what a commit needs that cannot leave the stored files as they are."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ingest.compile.event import DELETED
from ingest.compile.table import CompiledTable
from ingest.typemap.sparktype import SparkType, parse_ddl, reshape
from ingest.typemap.sql import ident, sql

_IS_NEW = "_ingest_is_new"
_RANK = "_ingest_rank"


def merge(stored: DataFrame, rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the stored rows with a batch's laid over them, in the batch's types.

    Deleted rows are left out, or marked, as the table file says now.

    Of two rows of a key the later position wins, of equal ones the batch's: as Hudi does it in an upsert.
    """
    if not compiled.marks_deleted:
        stored = stored.drop(DELETED)
    both = _widened(stored, rows).unionByName(rows.withColumn(_IS_NEW, F.lit(1)), allowMissingColumns=True)
    keys = [F.col(str(ident(name))) for name, _ in compiled.key_columns]
    newest = Window.partitionBy(*keys).orderBy(F.desc("_cdc_position"), F.desc(_IS_NEW))
    kept = both.withColumn(_RANK, F.row_number().over(newest)).where(F.col(_RANK) == 1)
    if compiled.marks_deleted:
        kept = kept.withColumn(DELETED, F.coalesce(DELETED, F.expr("false")))
    elif not compiled.keeps_all:
        kept = kept.where("_cdc_op != 'd'")
    return kept.drop(_RANK, _IS_NEW)


def _widened(stored: DataFrame, rows: DataFrame) -> DataFrame:
    """Return stored rows in the batch's types, where it has the column."""
    targets = _types(rows)
    columns = [
        reshape(ident(name), spark_type, targets.get(name, spark_type)).alias(name)
        for name, spark_type in _types(stored).items()
    ]
    return stored.selectExpr(*map(str, columns), str(sql("0").alias(_IS_NEW)))


def _types(rows: DataFrame) -> dict[str, SparkType]:
    return {field.name: parse_ddl(field.dataType.simpleString()) for field in rows.schema}
