"""The table's schema as it stands: what the next batch must fit."""

from collections.abc import Sequence

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from ingest.compile.event import DELETED
from ingest.errors import LakeUnreachableError
from ingest.hudi.java_errors import root_cause
from ingest.hudi.metaclient import open_table
from ingest.java import jvm_of
from ingest.typemap.sparktype import SparkType, parse_ddl


def present(spark: SparkSession, path: str) -> tuple[tuple[str, str, bool], ...] | None:
    """Give name, Spark type and nullability of each column, in the table's order; None before a first commit.

    Types are DDL, in lower case but for the names inside structs.  Hudi's own columns are left out.
    """
    table = open_table(spark, path)
    if table is None:
        return None
    jvm = jvm_of(spark)
    with_hoodie_columns = False
    try:
        resolver = jvm.org.apache.hudi.common.table.TableSchemaResolver(table)
        schema = resolver.getTableSchemaIfPresent(with_hoodie_columns)
    except Py4JJavaError as error:
        raise LakeUnreachableError(path, root_cause(error)) from error
    if not schema.isPresent():
        return None
    convert = jvm.org.apache.hudi.HoodieSchemaConversionUtils.convertHoodieSchemaToStructType
    return tuple(
        (field.name(), field.dataType().catalogString(), field.nullable())
        for field in convert(schema.get()).fields()
    )


def present_types(spark: SparkSession, path: str) -> dict[str, SparkType] | None:
    """Give the type of each column, in the table's order; None before a first commit."""
    columns = present(spark, path)
    return None if columns is None else {name: parse_ddl(kind) for name, kind, _ in columns}


def read_columns(spark: SparkSession, path: str, columns: Sequence[str]) -> DataFrame:
    """Read columns of the table as it stands, but those that it lacks, and no rows marked as deleted."""
    rows = spark.read.format("hudi").load(path)
    held = set(rows.columns)
    rows = rows.where(f"not {DELETED}") if DELETED in held else rows
    return rows.select(*(f"`{name}`" for name in columns if name in held))


def read_all(spark: SparkSession, path: str) -> DataFrame:
    """Read the table as it stands, Hudi's own columns left out."""
    rows = spark.read.format("hudi").load(path)
    return rows.select(*(f"`{name}`" for name in rows.columns if not name.startswith("_hoodie_")))


def count_rows(spark: SparkSession, path: str) -> int:
    """Count the table's rows, those that are marked as deleted left out."""
    rows = spark.read.format("hudi").load(path)
    return (rows.where(f"not {DELETED}") if DELETED in rows.columns else rows).count()


def record_keys(spark: SparkSession, path: str) -> tuple[str, ...]:
    """Give the columns of the record key, as they were fixed when the table was created."""
    table = open_table(spark, path)
    if table is None:
        return ()
    fields = table.getTableConfig().getRecordKeyFields()
    return tuple(fields.get()) if fields.isPresent() else ()
