"""Hudi's classes in Parquet's packages, which work only in the class loader of Parquet itself.

`--jars` and `spark.jars` have a separate class loader.  There the second commit to a copy-on-write file with
a nested `timestamp_ntz` fails with an IllegalAccessError: `SchemaRepair` of Hudi 1.2.0 (PR 14161 of
apache/hudi) calls a package-private constructor of Parquet.
"""

from collections.abc import Mapping
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ingest.errors import SettingsError
from ingest.spark.java import find_class
from ingest.spark.master import is_local
from ingest.sql.types import SparkType
from ingest.tables import TableConfig

HUDIS: Final = "org.apache.parquet.schema.SchemaRepair"
PARQUETS: Final = "org.apache.parquet.schema.GroupType"


def check_class_path(spark: SparkSession, table: TableConfig, columns: Mapping[str, SparkType]) -> None:
    """Refuse columns that the session's class path could write only once.  Raises SettingsError."""
    if table.target.type != "cow":
        return
    nested = [name for name, column in columns.items() if _holds_nested_ntz(str(column))]
    if not nested or _has_one_loader(spark):
        return
    raise SettingsError(
        "Spark session",
        "spark.jars",
        f"table {table.name}, column {nested[0]}: Hudi cannot rewrite files with {columns[nested[0]]} while "
        "its bundle is loaded apart from Parquet, as --jars does",
        "Set spark.driver.extraClassPath and spark.executor.extraClassPath to the jars, or copy them to "
        "$SPARK_HOME/jars",
    )


def _holds_nested_ntz(ddl: str) -> bool:
    return "timestamp_ntz" in ddl and ddl != "timestamp_ntz"


def _has_one_loader(spark: SparkSession) -> bool:
    """Tell whether driver and executors load both classes in one class loader."""
    loaders = [find_class(spark, name).getClassLoader() for name in (HUDIS, PARQUETS)]
    if not loaders[0].equals(loaders[1]):
        return False
    return is_local(str(spark.sparkContext.master)) or _is_visible_to_executors(spark)


def _is_visible_to_executors(spark: SparkSession) -> bool:
    """Let an executor look Hudi's class up as Spark's own code does: in the loader of Spark and Parquet."""
    lookup = f"reflect('java.lang.Class', 'forName', '{HUDIS}')"
    try:
        spark.range(0, 1, 1, 1).selectExpr(lookup).collect()
    except (Py4JJavaError, PySparkException):
        return False
    return True
