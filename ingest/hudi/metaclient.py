"""Hudi's own view of a table, opened on the driver: no Spark job, no catalog."""

from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeError, LakeUnreachableError, SettingsError
from ingest.hudi.cause import root_cause


def jvm_of(spark: SparkSession) -> Any:
    """Give the driver's JVM."""
    return spark.sparkContext._jvm  # noqa: SLF001  (pyspark has no public way there)


def open_table(spark: SparkSession, path: str) -> Any | None:
    """Open the table at a path, fresh from storage; None when nothing is there yet.

    Raise LakeError for a folder that holds something else, LakeUnreachableError when storage does not answer.
    """
    jvm = jvm_of(spark)
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001  (same)
    try:
        conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(hadoop)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(conf).setBasePath(path).build()
    except Py4JJavaError as error:
        if error.java_exception.getClass().getSimpleName() != "TableNotFoundException":
            raise _unreachable(path, error) from error
    if _holds_files(jvm.org.apache.hadoop.fs.Path(path), hadoop):
        raise LakeError(path, "the folder holds files, but is no Hudi table", "Move them away")
    return None


def _holds_files(folder: Any, hadoop: Any) -> bool:
    """Look for anything in the folder; one that does not exist holds nothing."""
    try:
        storage = folder.getFileSystem(hadoop)
        return bool(storage.exists(folder)) and len(storage.listStatus(folder)) > 0
    except Py4JJavaError as error:
        raise _unreachable(folder.toString(), error) from error


def _unreachable(path: str, error: Py4JJavaError) -> LakeUnreachableError | SettingsError:
    """Tell a storage that does not answer from a path that Hadoop has no file system for."""
    problem = root_cause(error)
    if "No FileSystem for scheme" in problem:
        return SettingsError("settings", "lake.path", f"'{path}': {problem}", "Add its jar")
    return LakeUnreachableError(path, problem)
