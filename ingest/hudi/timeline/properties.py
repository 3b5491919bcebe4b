"""Hudi's properties of a table: its type, key and partitions, and the file that holds them."""

import re
import zlib
from collections.abc import Mapping
from typing import Final, Literal

import attrs

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError

PROPERTIES: Final = ".hoodie/hoodie.properties"
TYPES: Final[Mapping[str, Literal["cow", "mor"]]] = {"COPY_ON_WRITE": "cow", "MERGE_ON_READ": "mor"}
MEASURED: Final = {
    "hoodie.timeline.path": "timeline",
    "hoodie.timeline.history.path": "history",
    "hoodie.table.base.file.format": "PARQUET",
}
"""The layout of a table that Hudi 1.2.0 makes.  Others are left to Hudi."""
LAYOUTS: Final = {"6": "1", "8": "2", "9": "2"}
"""The version of the timeline's layout, by the version of the table."""
HIVE_STYLE: Final = "hoodie.datasource.write.hive_style_partitioning"
"""A property, and an option of a write."""
BOOTSTRAPPED: Final = "hoodie.bootstrap.base.path"
METADATA_PARTITIONS: Final = "hoodie.table.metadata.partitions"
KEYS: Final = "record_index"
"""The partition of the metadata table that has the keys."""
OLDEST: Final = 6
"""The one version whose timeline is in `.hoodie` itself and does not record when an action ended."""
_LINE: Final = re.compile(r"((?:[^\\=:\s]|\\.)+)[ \t]*[=:][ \t]*(.*)")
_ESCAPE: Final = re.compile(r"\\(u[0-9A-Fa-f]{4}|.)")
_CONTROLS: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@attrs.frozen
class TableProperties:
    """The properties that a table file must agree with."""

    type: Literal["cow", "mor"]
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    version: int = 9
    """The version of Hudi's table format."""
    hive_style: bool = False
    """Whether the folders of partitions have the names of the columns."""
    has_record_index: bool = False
    """Whether Hudi's metadata table has the keys."""

    @property
    def timeline(self) -> str:
        """The folder of the active timeline."""
        return ".hoodie" if self.version == OLDEST else ".hoodie/timeline"


def read_properties(folder: TableFolder) -> TableProperties:
    """Read the properties of a table.

    Raises UnclearFilesError for a layout or a file that is not exactly as Hudi 1.2.0 writes it.
    """
    if folder.sizes([f"{PROPERTIES}.backup"]):
        raise UnclearFilesError("the properties are being rewritten")
    values = parse_properties(folder.read(PROPERTIES))
    qualified = f"{values.get('hoodie.database.name', '')}.{values.get('hoodie.table.name', '')}"
    is_whole = values.get("hoodie.table.checksum") == str(zlib.crc32(qualified.encode()))
    version = values.get("hoodie.table.version", "")
    expected = {**MEASURED, "hoodie.timeline.layout.version": LAYOUTS.get(version)}
    if version == str(OLDEST):
        expected["hoodie.archivelog.folder"] = "history"
    if not is_whole or any(values.get(key) != value for key, value in expected.items()):
        raise UnclearFilesError("the properties are not those of a table of Hudi 1.2.0")
    partitions = _names(values.get("hoodie.table.partition.fields", ""))
    table_type = TYPES.get(values.get("hoodie.table.type", ""))
    keys = _names(values.get("hoodie.table.recordkey.fields", ""))
    if table_type is None or not keys or any(":" in name for name in partitions):
        raise UnclearFilesError("the properties lack type or key, or have a partition of its own kind")
    is_indexed = KEYS in _names(values.get(METADATA_PARTITIONS, ""))
    style = values.get(HIVE_STYLE) == "true"
    return TableProperties(table_type, keys, partitions, int(version), style, is_indexed)


def parse_properties(content: bytes) -> dict[str, str]:
    """Parse Java properties as `Properties.store` writes them: ASCII, a line each, with escapes."""
    values = {}
    for line in content.split(b"\n"):
        text = line.decode("ascii", "replace").lstrip(" \t\f").rstrip("\r")
        if not text or text[0] in "#!":
            continue
        match = _LINE.fullmatch(text)
        if match is None or not line.isascii() or text.endswith("\\"):
            raise UnclearFilesError(f"hoodie.properties: cannot parse {text[:80]!r}")
        values[_unescaped(match[1])] = _unescaped(match[2])
    return values


def _unescaped(text: str) -> str:
    """Resolve escapes.  A character beyond 16 bits is two of them."""
    units = _ESCAPE.sub(lambda escape: _character(escape[1]), text)
    return units.encode("utf-16", "surrogatepass").decode("utf-16")


def _character(code: str) -> str:
    return chr(int(code[1:], 16)) if len(code) > 1 else _CONTROLS.get(code, code)


def _names(text: str) -> tuple[str, ...]:
    """Split as Hudi does: empty parts are dropped."""
    return tuple(name.strip() for name in text.split(",") if name.strip())
