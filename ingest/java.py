"""The driver's JVM: the only code that takes py4j objects out of pyspark.

It lies below the rooms that call Java (`hudi`, `order`, `decode`, `spark`), so that each may import it.
"""

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession


def jvm_of(spark: SparkSession) -> Any:
    """Return the driver's JVM; attributes are packages and classes."""
    return spark._jvm  # noqa: SLF001  pyspark has no public way there


def hadoop_of(spark: SparkSession) -> Any:
    """Return the Hadoop configuration that all sessions of the context share."""
    return spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001  same


def status_store(spark: SparkSession) -> Any:
    """Return Spark's account of its jobs and stages (AppStatusStore)."""
    return spark.sparkContext._jsc.sc().statusStore()  # noqa: SLF001  same


def java_session(spark: SparkSession) -> Any:
    """Return Spark's own session object."""
    return spark._jsparkSession  # noqa: SLF001  same


def java_rows(rows: DataFrame) -> Any:
    """Return the Dataset behind a DataFrame."""
    return rows._jdf  # noqa: SLF001  same


def java_column(column: Column) -> Any:
    """Return the Column object of the JVM."""
    return column._jc  # noqa: SLF001  same


def find_class(spark: SparkSession, name: str) -> Any:
    """Return a class as the session's jars give it.  Raises `Py4JJavaError` where no jar has it."""
    jvm = jvm_of(spark)
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return jvm.java.lang.Class.forName(name, False, loader)  # noqa: FBT003  Java's: do not initialise it


def java_array(spark: SparkSession, java_class: Any, items: Sequence[Any]) -> Any:
    """Return a Java array of a class."""
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001  same
    array = gateway.new_array(java_class, len(items))
    for index, item in enumerate(items):
        array[index] = item
    return array


def add_jar(spark: SparkSession, path: str) -> None:
    """Send a jar to the executors; tasks that start later see its classes."""
    spark.sparkContext._jsc.addJar(path)  # noqa: SLF001  same
