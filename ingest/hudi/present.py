"""The table's schema as it stands: what the next batch must fit."""

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeUnreachableError
from ingest.hudi.cause import root_cause
from ingest.hudi.metaclient import jvm_of, open_table


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


def record_keys(spark: SparkSession, path: str) -> tuple[str, ...]:
    """Give the columns of the record key, as they were fixed when the table was created."""
    table = open_table(spark, path)
    if table is None:
        return ()
    fields = table.getTableConfig().getRecordKeyFields()
    return tuple(fields.get()) if fields.isPresent() else ()
