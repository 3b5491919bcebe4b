"""The folder of one table in a lake, read without a JVM.  Paths are relative to it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import BinaryIO, Final, Protocol

import attrs

RESTORE: Final = "Restore the lake's files, or move the folder away to load the table again"


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


class DataFolder(Protocol):
    """The data files of one table, in any storage.  Raises OSError if the storage does."""

    def data_files(self) -> Iterator[StoredFile]:
        """Yield all files below, but for those in `.hoodie`."""

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files directly in a folder.  A missing one has none, or raises FileNotFoundError."""

    def sizes(self, paths: Iterable[str]) -> Mapping[str, int]:
        """Return the bytes of files, without those that are missing."""


class TableFolder(DataFolder, Protocol):
    """The whole folder of one table, in a storage that is read without a JVM."""

    @property
    def uri(self) -> str:
        """The folder, as programs without Hadoop name it."""

    def exists(self) -> bool:
        """Tell whether the folder exists."""

    def read(self, path: str) -> bytes:
        """Read a file, and compare it with its checksums if the storage keeps some."""

    def open(self, path: str) -> BinaryIO:
        """Open a file that is read in parts."""
