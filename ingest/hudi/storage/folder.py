"""The folder of one table in a lake, read without a JVM; paths are relative to it."""

from collections.abc import Iterator
from typing import BinaryIO, Protocol

import attrs


class UnclearFilesError(Exception):
    """The files alone do not answer: ask Hudi, which also knows the error if there is one."""


@attrs.frozen
class StoredFile:
    """A file, by its path below the table's folder, and its size in bytes."""

    path: str
    size: int

    @property
    def name(self) -> str:
        """The last part of the path."""
        return self.path.rpartition("/")[2]


class TableFolder(Protocol):
    """The folder of one table.  Raises OSError where the storage does."""

    def exists(self) -> bool:
        """Tell whether the folder exists."""

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files directly in a folder.  Raises FileNotFoundError for a missing folder."""

    def data_files(self) -> Iterator[StoredFile]:
        """Yield all files below, but for those in `.hoodie`."""

    def size_of(self, path: str) -> int | None:
        """Return the bytes of a file; None where it is missing."""

    def read(self, path: str) -> bytes:
        """Read a file, and compare it with its checksums if the storage keeps some."""

    def open(self, path: str) -> BinaryIO:
        """Open a file that is read in parts."""
