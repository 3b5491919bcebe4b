"""The number of rows in a Parquet file, from its footer: Thrift's compact protocol, as far as needed.

The footer is a `FileMetaData` of parquet.thrift, in front of its length and four magic bytes.
"""

import struct
from typing import Final

import attrs

from ingest.hudi.storage import TableFolder, UnclearFilesError

_TAIL: Final = struct.Struct("<I4s")
_MAGIC: Final = b"PAR1"
_ROWS_FIELD: Final = 3
"""`num_rows` of `FileMetaData`; before it come `version` and `schema`."""
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
    """Reads a footer forward."""

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
        """Skip a value of a type; a boolean field has its value in its type."""
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
