"""The whole table after a batch: what a commit needs that cannot leave the stored files as they are."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from ingest.compile.event import DELETED
from ingest.compile.table import CompiledTable
from ingest.typemap.sparktype import parse_ddl, quote, reshape

_IS_NEW = "is_new"


def merge(stored: DataFrame, rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return the stored rows with a batch's laid over them, in the batch's types.

    Deleted rows are left out, or marked, as the table file says now.

    Of two rows of a key the later position wins, of equal ones the batch's: as Hudi does it in an upsert.
    """
    if not compiled.marks_deleted:
        stored = stored.drop(DELETED)
    both = _widened(stored, rows).unionByName(rows.withColumn(_IS_NEW, F.lit(1)), allowMissingColumns=True)
    keys = [F.col(quote(name)) for name, _ in compiled.key_columns]
    newest = Window.partitionBy(*keys).orderBy(F.desc("_cdc_position"), F.desc(_IS_NEW))
    kept = both.withColumn("place", F.row_number().over(newest)).where("place = 1")
    if compiled.marks_deleted:
        kept = kept.withColumn(DELETED, F.coalesce(DELETED, F.expr("false")))
    elif not compiled.keeps_all:
        kept = kept.where("_cdc_op != 'd'")
    return kept.drop("place", _IS_NEW)


def _widened(stored: DataFrame, rows: DataFrame) -> DataFrame:
    """Return stored rows in the batch's types, where it has the column."""
    targets = {field.name: field.dataType.simpleString() for field in rows.schema}
    columns = [
        f"{_cast(field.name, field.dataType.simpleString(), targets)} as {quote(field.name)}"
        for field in stored.schema
    ]
    return stored.selectExpr(*columns, f"0 as {_IS_NEW}")


def _cast(name: str, held: str, targets: dict[str, str]) -> str:
    return reshape(quote(name), parse_ddl(held), parse_ddl(targets.get(name, held)))
