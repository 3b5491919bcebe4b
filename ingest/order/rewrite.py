"""The whole table after a batch, for a commit that must rewrite all stored files."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ingest.compile.event import DELETED
from ingest.compile.table import CompiledTable
from ingest.order.columns import select, types_of
from ingest.sql.template import ident, sql
from ingest.sql.types import reshape

_IS_NEW = "_ingest_is_new"
_RANK = "_ingest_rank"


def merge(stored: DataFrame, rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the stored rows, replaced by a batch's rows, in the types of the batch.

    Deleted rows are removed, or marked, as the current table file says.

    Of two rows of a key the later position wins.  At equal positions the batch's row wins, as in an upsert
    of Hudi.
    """
    model = compiled.model
    if not model.marks_deletes:
        stored = _without_mark(stored)
    old = widened(stored, rows).withColumn(_IS_NEW, F.lit(0))
    both = old.unionByName(rows.withColumn(_IS_NEW, F.lit(1)), allowMissingColumns=True)
    keys = [F.col(str(ident(name))) for name in compiled.record_key]
    newest = Window.partitionBy(*keys).orderBy(F.desc("_cdc_position"), F.desc(_IS_NEW))
    newest_rows = both.withColumn(_RANK, F.row_number().over(newest)).where(F.col(_RANK) == 1)
    if model.marks_deletes:
        newest_rows = newest_rows.withColumn(DELETED, F.coalesce(DELETED, F.expr("false")))
    return newest_rows.where(F.col("_cdc_op") != model.removal).drop(_RANK, _IS_NEW)


def _without_mark(stored: DataFrame) -> DataFrame:
    """Return stored rows without the mark of deleted ones, which become deletes."""
    if DELETED not in stored.columns:
        return stored
    op = F.expr(str(sql("if(coalesce({c}, false), 'd', _cdc_op)", c=ident(DELETED))))
    return stored.withColumn("_cdc_op", op).drop(DELETED)


def widened(stored: DataFrame, rows: DataFrame) -> DataFrame:
    """Return stored rows in the types of the batch, for the columns of the batch."""
    targets = types_of(rows)
    columns = {
        name: reshape(ident(name), spark_type, targets.get(name, spark_type))
        for name, spark_type in types_of(stored).items()
    }
    return select(stored, columns)
