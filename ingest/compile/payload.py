"""The keys or the values of a topic: the schemas that wrote them, and the reader."""

import sys
from collections.abc import Iterable, Mapping

import attrs

from ingest import avro
from ingest.compile.column_versions import ColumnVersion
from ingest.compile.envelope import Kind
from ingest.names import SchemaId
from ingest.registry import FrameId


@attrs.frozen
class WriterSchema:
    """A schema that records were written with: `label` names it in messages.

    `frame` is the text before a record that it wrote, if the bytes themselves hold the schema.  `version` is
    its number in its subject, 0 without a subject.  `frame_ids` name it in framings that do not hold its id.
    """

    schema_id: SchemaId
    label: str
    schema: avro.Schema
    frame: bytes = b""
    version: int = 0
    frame_ids: tuple[FrameId, ...] = ()


@attrs.frozen
class CompiledWriter:
    """How to decode what one schema wrote.

    `wire` is its Avro JSON, empty for schemas that are not decoded.  `names` gives the reader's field of each
    column, for bytes that name their fields.  `record` holds the columns, None if it is unknown.
    """

    schema_id: SchemaId
    label: str
    kind: Kind
    wire: str = ""
    names: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    frame: bytes = b""
    version: int = 0
    record: avro.Record | None = None
    frame_ids: tuple[FrameId, ...] = ()


@attrs.frozen
class Payload:
    """The keys or the values of a topic.  `images` are the reader's fields that hold columns ("": itself)."""

    writers: tuple[CompiledWriter, ...]
    column_versions: tuple[ColumnVersion, ...]
    reader: str
    images: tuple[str, ...] = ("",)

    def writer(self, schema_id: SchemaId) -> CompiledWriter | None:
        """Return the writer of an id, if it is one of these."""
        return next((writer for writer in self.writers if writer.schema_id == schema_id), None)

    def in_version_order(self, ids: Iterable[SchemaId]) -> tuple[SchemaId, ...]:
        """Return schema ids by the number of their version, schemas without one last."""
        numbers = {writer.schema_id: writer.version for writer in self.writers}
        return tuple(sorted(ids, key=lambda schema_id: numbers.get(schema_id) or sys.maxsize))

    def columns(self, ids: Iterable[SchemaId] | None = None) -> dict[str, tuple[ColumnVersion, ...]]:
        """Return the variants of each column that these schemas (all, if None) wrote, in order."""
        wanted_ids = None if ids is None else frozenset(ids)
        by_column: dict[str, tuple[ColumnVersion, ...]] = {}
        for column_version in self.column_versions:
            if wanted_ids is None or wanted_ids.intersection(column_version.writers):
                by_column[column_version.column] = (*by_column.get(column_version.column, ()), column_version)
        return by_column
