"""A report at a Hadoop path, which outlives the local disk of a driver on a cluster."""

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeUnreachableError, UsageError
from ingest.hudi.storage.text_file import text_file
from ingest.spark.java_errors import is_unreachable, root_cause


def store_report(spark: SparkSession, path: str, text: str) -> None:
    """Write a report in one move.  Raises `LakeUnreachableError`, or `UsageError` for a wrong path."""
    try:
        text_file(spark, path).write_whole(text)
    except Py4JJavaError as error:
        problem = root_cause(error)
        if is_unreachable(error):
            raise LakeUnreachableError(path, problem) from error
        raise UsageError(
            f"--report {path}: {problem}", "The tables are as the log says; name a path that can be written"
        ) from error
