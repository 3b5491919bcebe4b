"""A small text file at a Hadoop path."""

from typing import Any
from uuid import uuid4

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import LakeUnreachableError
from ingest.spark.java import hadoop_of, jvm_of
from ingest.spark.java_errors import class_names


class TextFile:
    """One file in Hadoop's file system.  Java's exceptions pass through."""

    def __init__(self, jvm: Any, hadoop: Any, path: str) -> None:
        self._path = jvm.org.apache.hadoop.fs.Path(path)
        self._files = self._path.getFileSystem(hadoop)

    def write(self, text: str) -> None:
        """Write the file, and replace one that is there."""
        self._write(self._path, text)

    def write_whole(self, text: str) -> None:
        """Write a file under a unique name, then rename it: no reader sees half of it.

        Raises LakeUnreachableError if the storage does not rename it, without an exception of Java's.
        """
        scratch = self._path.suffix(f".{uuid4().hex}.tmp")
        self._write(scratch, text)
        self.remove()
        if not self._files.rename(scratch, self._path):
            self._files.delete(scratch, False)  # noqa: FBT003  Java's
            raise LakeUnreachableError(self._path.toString(), "the storage refused to rename a file to it")

    def read(self) -> str:
        """Read the file, or return an empty text without one."""
        try:
            stream = self._files.open(self._path)
        except Py4JJavaError as error:
            if "FileNotFoundException" in class_names(error):
                return ""
            raise
        try:
            return bytes(stream.readAllBytes()).decode(errors="replace")
        finally:
            stream.close()

    def remove(self) -> None:
        """Remove the file, if it is there."""
        self._files.delete(self._path, False)  # noqa: FBT003  Java's

    def _write(self, path: Any, text: str) -> None:
        stream = self._files.create(path, True)  # noqa: FBT003  Java's
        try:
            stream.write(bytearray(text.encode()))
        finally:
            stream.close()


def text_file(spark: SparkSession, path: str) -> TextFile:
    """Open the file at a path, by the session's settings."""
    return TextFile(jvm_of(spark), hadoop_of(spark), path)
