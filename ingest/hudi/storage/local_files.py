"""The folder of a table on a local disk, read as Hadoop reads it: against the checksums next to the files."""

import os
import re
import struct
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

import attrs

from ingest.hudi.storage.folder import StoredFile, UnclearFilesError
from ingest.spark.hadoop_settings import LOCAL_FS

_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_FILE_URL: Final = re.compile(r"file:(//)?/(?!/).*")
_CHECKSUMS: Final = struct.Struct(">4sI")
"""The head of a checksum file: magic bytes, and the bytes per checksum (ChecksumFileSystem)."""
_MAGIC: Final = b"crc\0"


@attrs.frozen
class LocalFolder:
    """A table's folder on a local disk (a `TableFolder`)."""

    root: Path

    @property
    def uri(self) -> str:
        """The folder, as programs without Hadoop name it."""
        return f"file://{self.root}"

    def exists(self) -> bool:
        """Tell whether the folder exists."""
        return self.root.exists()

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield the files directly in a folder."""
        with os.scandir(self.root / folder) as entries:
            for entry in entries:
                if entry.is_file():
                    yield StoredFile(f"{folder}/{entry.name}" if folder else entry.name, entry.stat().st_size)

    def data_files(self) -> Iterator[StoredFile]:
        """Yield all files below, but for those in `.hoodie`."""
        for parent, folders, names in os.walk(self.root):
            if Path(parent) == self.root and ".hoodie" in folders:
                folders.remove(".hoodie")
            for name in names:
                file = Path(parent, name)
                yield StoredFile(file.relative_to(self.root).as_posix(), file.stat().st_size)

    def sizes(self, paths: Iterable[str]) -> dict[str, int]:
        """Return the bytes of files, without those that are missing."""
        return {path: file.stat().st_size for path in paths if (file := self.root / path).exists()}

    def read(self, path: str) -> bytes:
        """Read a file, and compare it with its checksums if it has some."""
        return read_checked(self.root / path)

    def open(self, path: str) -> BinaryIO:
        """Open a file that is read in parts."""
        return (self.root / path).open("rb")


def local_folder(path: str, default_fs: str) -> LocalFolder | None:
    """Return the local folder of a Hadoop path, or None for other storage."""
    scheme = _SCHEME.match(path)
    if scheme is None and default_fs == LOCAL_FS and path.startswith("/"):
        return LocalFolder(Path(path))
    if _FILE_URL.fullmatch(path) and "%" not in path:
        return LocalFolder(Path(path.removeprefix("file:").removeprefix("//")))
    return None


def read_checked(file: Path) -> bytes:
    """Read a file, and compare it with its checksums if it has some."""
    content = file.read_bytes()
    try:
        checksums = file.with_name(f".{file.name}.crc").read_bytes()
    except FileNotFoundError:
        return content
    if checksums != _MAGIC + b"".join(_expected(content, checksums)):
        raise UnclearFilesError(f"{file}: the checksum is wrong")
    return content


def _expected(content: bytes, checksums: bytes) -> Iterator[bytes]:
    """Yield a checksum file's content behind its magic bytes, as it should be."""
    if len(checksums) < _CHECKSUMS.size:
        return
    _, size = _CHECKSUMS.unpack_from(checksums)
    yield struct.pack(">I", size)
    for start in range(0, len(content) if size else 0, size or 1):
        yield struct.pack(">I", zlib.crc32(content[start : start + size]))
