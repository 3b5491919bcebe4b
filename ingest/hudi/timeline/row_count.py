"""The number of rows of a table, from the footers of its Parquet files: no JVM, and no column is read.

Hudi reads the newest base file of each file group, of the completed commits.  Log files change the rows of
their group in a manner that only a merge shows: such a table is left to Spark.
"""

import re
import struct
from itertools import pairwise
from typing import Final

import attrs

from ingest.hudi.storage.folder import StoredFile, TableFolder, UnclearFilesError
from ingest.hudi.timeline.file_timeline import FileTimeline
from ingest.hudi.timeline.timeline_files import ActiveTimeline

BASE: Final = re.compile(r"(.+)_[\d-]+_(\d{17})\.parquet")
LOG: Final = re.compile(r"\.(.+)_(\d{17})\.log\.\d+_[\d-]+(\.cdc)?")

_TAIL: Final = struct.Struct("<I4s")
_MAGIC: Final = b"PAR1"
_ROWS_FIELD: Final = 3
"""`num_rows` of `FileMetaData`, after `version` and `schema`."""
_BOOLEANS: Final = (1, 2)
_BYTE: Final = 3
_INTEGERS: Final = (4, 5, 6)
_DOUBLE: Final = 7
_BINARY: Final = 8
_LISTS: Final = (9, 10)
_STRUCT: Final = 12
"""Types of the compact protocol."""
_LONG_LIST: Final = 15

SPARK_VERSION: Final = b"org.apache.spark.version"
"""The key by which Spark knows that a file's dates are in the Gregorian calendar."""


@attrs.frozen
class BaseFile:
    """A Parquet file, written by the commit of an instant."""

    instant: str
    path: str


@attrs.define
class FileGroups:
    """By file group, the newest base file, and the instant of the newest log file."""

    bases: dict[str, BaseFile] = attrs.Factory(dict)
    logs: dict[str, str] = attrs.Factory(dict)

    def add(self, file: StoredFile, timeline: ActiveTimeline) -> None:
        """Add a file, unless its commit does not count."""
        base, log = BASE.fullmatch(file.name), LOG.fullmatch(file.name)
        if base and is_completed(base[2], timeline):
            version = BaseFile(base[2], file.path)
            present = self.bases.setdefault(base[1], version)
            self.bases[base[1]] = max(present, version, key=lambda candidate: candidate.instant)
        elif log and log[3] is None:  # log files of change data capture hold no rows
            self.logs[log[1]] = max(log[2], self.logs.get(log[1], ""))
        elif not base and not log and _is_unknown(file.name):
            raise UnclearFilesError(f"{file.path}: is not a name that Hudi 1.2.0 gives")

    def has_newer_log(self, file_group: str) -> bool:
        """Tell whether changes of a group lie in log files: in version 6 these have the base's instant."""
        base = self.bases.get(file_group)
        return file_group in self.logs and (base is None or self.logs[file_group] >= base.instant)


def count_rows(timeline: FileTimeline) -> int:
    """Count the rows of a table.  Raises UnclearFilesError if only a merge shows them."""
    return sum(read_row_count(timeline.folder, file.path) for file in row_files(timeline))


def base_files(timeline: FileTimeline) -> list[BaseFile]:
    """Return the newest base file of each file group.  Raises UnclearFilesError."""
    groups, replaced = _groups(timeline)
    return [base for group, base in groups.bases.items() if group not in replaced]


def row_files(timeline: FileTimeline) -> list[BaseFile]:
    """Return the files that hold the rows.  Raises UnclearFilesError if only a merge shows them."""
    groups, replaced = _groups(timeline)
    is_parallel = any(older.completed > newer.requested for newer, older in pairwise(timeline.active.commits))
    if groups.logs and is_parallel:
        raise UnclearFilesError("the log files may belong to either of two base files")
    if any(groups.has_newer_log(group) for group in groups.logs.keys() - replaced):
        raise UnclearFilesError("log files hold changes of rows")
    return [base for group, base in groups.bases.items() if group not in replaced]


def _groups(timeline: FileTimeline) -> tuple[FileGroups, set[str]]:
    """Return the file groups, and the names of those that a commit replaced."""
    replacing = [file for file in timeline.active.commits if file.action == "replacecommit"]
    groups = FileGroups()
    for file in timeline.folder.data_files():
        groups.add(file, timeline.active)
    return groups, {group for file in replacing for group in file.commit(timeline.path).replaced}


def is_completed(instant: str, timeline: ActiveTimeline) -> bool:
    """Tell whether the commit of an instant counts.  Archived commits are older than all active instants."""
    if any(commit.requested == instant for commit in timeline.commits):
        return True
    if instant in timeline.instants:
        return False
    if instant < min(timeline.instants, default=""):
        return True
    raise UnclearFilesError(f"instant {instant} is not in the active timeline")


def _is_unknown(name: str) -> bool:
    """Tell files that may hold rows from markers and checksums."""
    return not name.endswith(".crc") and (".log." in name or not name.startswith((".", "_")))


def read_row_count(folder: TableFolder, file: str) -> int:
    """Return the rows of a Parquet file.  Raises UnclearFilesError for a file that is not a whole one."""
    footer = _read_footer(folder, file)
    try:
        return _Reader(footer).row_count()
    except (IndexError, ValueError) as error:
        raise UnclearFilesError(f"{file}: its footer cannot be read: {error}") from error


def names_spark(folder: TableFolder, file: str) -> bool:
    """Tell whether a Parquet file names the Spark that wrote it.  Raises UnclearFilesError."""
    return SPARK_VERSION in _read_footer(folder, file)


def _read_footer(folder: TableFolder, file: str) -> bytes:
    """Return the footer, which precedes its length and four magic bytes."""
    with folder.open(file) as content:
        size = content.seek(0, 2)
        content.seek(max(0, size - _TAIL.size))
        tail = content.read(_TAIL.size)
        length, magic = _TAIL.unpack(tail) if len(tail) == _TAIL.size else (0, b"")
        if magic != _MAGIC or length > size - _TAIL.size:
            raise UnclearFilesError(f"{file}: does not end as a Parquet file")
        content.seek(size - _TAIL.size - length)
        return content.read(length)


@attrs.define
class _Reader:
    """Reads a footer forward: a `FileMetaData` of parquet.thrift, in Thrift's compact protocol."""

    content: bytes
    position: int = 0

    def row_count(self) -> int:
        """Skip to the field of the row count, and read it."""
        field = 0
        while header := self._byte():
            field = field + (header >> 4) if header >> 4 else self._integer()
            if field == _ROWS_FIELD:
                return self._integer()
            self._skip(header & 15)
        raise ValueError("no row count")

    def _byte(self) -> int:
        self.position += 1
        return self.content[self.position - 1]

    def _varint(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:  # noqa: PLR2004  the highest bit says that another byte follows
                return value

    def _integer(self) -> int:
        """Read a signed number, in zigzag code."""
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, kind: int) -> None:
        """Skip a value of a type.  A boolean field has its value in its type."""
        if kind in _INTEGERS:
            self._varint()
        elif kind == _BINARY:
            length = self._varint()
            self.position += length
        elif kind in _LISTS:
            self._skip_list()
        elif kind == _STRUCT:
            self._skip_struct()
        elif kind in (_BYTE, _DOUBLE):
            self.position += 1 if kind == _BYTE else 8
        elif kind not in _BOOLEANS:
            raise ValueError(f"type {kind}")

    def _skip_list(self) -> None:
        header = self._byte()
        count = header >> 4
        if count == _LONG_LIST:
            count = self._varint()
        for _ in range(count):
            self._skip(_BYTE if header & 15 in _BOOLEANS else header & 15)

    def _skip_struct(self) -> None:
        while header := self._byte():
            if not header >> 4:
                self._varint()
            self._skip(header & 15)
