"""Hudi's own view of a table, opened on the driver: no Spark job, no catalog."""

from typing import Any, Final

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeError, LakeUnreachableError, SettingsError
from ingest.hudi.java_errors import root_cause
from ingest.java import hadoop_of, jvm_of

PROPERTIES: Final = ("hoodie.properties", "hoodie.properties.backup")
"""Where Hudi keeps a table's properties; the backup stands alone while they are written anew."""


def open_table(spark: SparkSession, path: str) -> Any | None:
    """Open the table at a path, fresh from storage; None when nothing is there yet.

    Raise LakeError for a folder that holds something else, LakeUnreachableError when storage does not answer.
    """
    jvm = jvm_of(spark)
    hadoop = hadoop_of(spark)
    try:
        if not _is_table(jvm.org.apache.hadoop.fs.Path(path), hadoop):
            return None
        conf = jvm.org.apache.hudi.hadoop.fs.HadoopFSUtils.getStorageConfWithCopy(hadoop)
        builder = jvm.org.apache.hudi.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(conf).setBasePath(path).build()
    except Py4JJavaError as error:
        raise _unreachable(path, error) from error


def _is_table(folder: Any, hadoop: Any) -> bool:
    """Look for the table's properties: Hudi itself waits 5 s for them before it says that there are none.

    A folder with nothing but an empty `.hoodie`, or one with empty properties, is a table whose creation was
    killed: there is none yet.
    """
    storage = folder.getFileSystem(hadoop)
    if not storage.exists(folder):
        return False
    home = folder.suffix("/.hoodie")
    if any(storage.exists(home.suffix(f"/{name}")) for name in PROPERTIES):
        return not _is_unborn(storage, home)
    if any(status.getPath().getName() != home.getName() for status in storage.listStatus(folder)):
        raise LakeError(folder.toString(), "the folder holds files, but is no Hudi table", "Move them away")
    return False


def remove_incomplete_table(spark: SparkSession, path: str) -> None:
    """Take away what a killed creation of a table has left: Hudi would neither read it nor create the table.

    For who is about to write; to a reader it may be a table that another process creates just now.
    """
    hadoop = hadoop_of(spark)
    try:
        home = jvm_of(spark).org.apache.hadoop.fs.Path(f"{path}/.hoodie")
        storage = home.getFileSystem(hadoop)
        if storage.exists(home) and _is_unborn(storage, home):
            storage.delete(home, True)  # noqa: FBT003  (Java: with all in it)
    except Py4JJavaError as error:
        raise _unreachable(path, error) from error


def _is_unborn(storage: Any, home: Any) -> bool:
    """Tell whether properties were never written, though maybe created: that comes before any commit."""
    properties, backup = (home.suffix(f"/{name}") for name in PROPERTIES)
    if storage.exists(backup) or (storage.exists(properties) and storage.getFileStatus(properties).getLen()):
        return False
    timeline = home.suffix("/timeline")
    return not storage.exists(timeline) or not any(one.isFile() for one in storage.listStatus(timeline))


def _unreachable(path: str, error: Py4JJavaError) -> LakeUnreachableError | SettingsError:
    """Tell a storage that does not answer from a path that Hadoop has no file system for."""
    problem = root_cause(error)
    if "No FileSystem for scheme" in problem:
        return SettingsError("settings", "lake.path", f"'{path}': {problem}", "Add its jar")
    return LakeUnreachableError(path, problem)
