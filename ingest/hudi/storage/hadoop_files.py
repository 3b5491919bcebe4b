"""The folder of a table in any storage, by Hadoop's classes.  Their exceptions become errors of the lake."""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from typing import Any, BinaryIO, Final

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.errors import IngestError, LakeError, LakeUnreachableError, SettingsError
from ingest.hudi.storage.folder import RESTORE, StoredFile
from ingest.spark.java import hadoop_of, jvm_of
from ingest.spark.java_errors import is_damage, root_cause

_PLAIN_SCHEMES: Final = {"s3a": "s3", "s3n": "s3"}
"""Hadoop's names of storages for which others have one."""


@attrs.frozen
class HadoopFolder:
    """A table's folder (a `TableFolder`, but for its JVM).  Raises the errors of the lake."""

    spark: SparkSession
    path: str

    @property
    def uri(self) -> str:
        """The folder, as programs without Hadoop name it."""
        with lake_errors(self.path):
            storage, path = self.locate()
            full = storage.makeQualified(path).toUri()
        scheme = _PLAIN_SCHEMES.get(full.getScheme(), full.getScheme())
        return f"{scheme}://{full.getAuthority() or ''}{full.getPath()}"

    def exists(self) -> bool:
        """Tell whether the folder exists."""
        with lake_errors(self.path):
            storage, path = self.locate()
            return bool(storage.exists(path))

    def read(self, path: str) -> bytes:
        """Read a file.  Hadoop compares it with its checksums."""
        with lake_errors(self.path):
            storage, full = self.locate(path)
            stream = storage.open(full)
            try:
                return bytes(jvm_of(self.spark).org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def open(self, path: str) -> BinaryIO:
        """Open a file, whole in memory."""
        return BytesIO(self.read(path))

    def locate(self, path: str = "") -> tuple[Any, Any]:
        """Return Hadoop's file system, and a path below the folder.  Java's exceptions pass through."""
        full = jvm_of(self.spark).org.apache.hadoop.fs.Path(f"{self.path}/{path}" if path else self.path)
        return full.getFileSystem(hadoop_of(self.spark)), full

    def children(self, folder: str = "") -> Sequence[Any]:
        """List the files and folders in a folder, or nothing if it is missing."""
        with lake_errors(self.path):
            storage, path = self.locate(folder)
            return storage.listStatus(path) if storage.exists(path) else ()

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files directly in a folder, or nothing if it is missing."""
        prefix = f"{folder}/" if folder else ""
        for child in self.children(folder):
            if child.isFile():
                yield StoredFile(f"{prefix}{child.getPath().getName()}", child.getLen())

    def has_data(self) -> bool:
        """Tell whether the folder has anything but `.hoodie`."""
        return any(map(_is_data, self.children()))

    def data_files(self) -> Iterator[StoredFile]:
        """Yield all files below, but for those in `.hoodie`."""
        with lake_errors(self.path):
            storage, root = self.locate()
            prefix = f"{storage.getFileStatus(root).getPath().toUri().getPath()}/"
            for child in filter(_is_data, storage.listStatus(root)):
                for file in _files_below(storage, child):
                    path = file.getPath().toUri().getPath().removeprefix(prefix)
                    yield StoredFile(path, file.getLen())

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the bytes of files, asked for in one call, without those that are missing."""
        names = list(paths)
        if not names:
            return {}
        stored = jvm_of(self.spark).io.hudicdc.ingest.hudi.StoredTable
        with lake_errors(self.path):
            sizes = json.loads(stored.sizes(hadoop_of(self.spark), self.path, "\n".join(names)))
        return {name: size for name, size in zip(names, sizes, strict=True) if size is not None}


def _is_data(status: Any) -> bool:
    return bool(status.getPath().getName() != ".hoodie")


def _files_below(storage: Any, status: Any) -> Iterator[Any]:
    if status.isFile():
        yield status
        return
    files = storage.listFiles(status.getPath(), True)  # noqa: FBT003  Java's: with its folders
    while files.hasNext():
        yield files.next()


@contextmanager
def lake_errors(path: str) -> Iterator[None]:
    """Raise Java's exceptions as errors of the lake at a path."""
    try:
        yield
    except Py4JJavaError as error:
        raise _lake_error(path, error) from error


def _lake_error(path: str, error: Py4JJavaError) -> IngestError:
    """Tell a damaged table and a path without a file system from a storage that does not answer."""
    problem = root_cause(error)
    if "No FileSystem for scheme" in problem:
        return SettingsError("settings", "lake.path", f"'{path}': {problem}", "Add its jar")
    if "Unsupported table version" in problem:
        problem = f"its version of Hudi's table format is unknown here ({problem})"
        return LakeError(path, problem, "A later Hudi upgraded it. Write tables with ingest only")
    if is_damage(error) or problem.endswith("/.hoodie/timeline does not exist"):
        return LakeError(path, f"the table is damaged: {problem}", RESTORE)
    return LakeUnreachableError(path, problem)
