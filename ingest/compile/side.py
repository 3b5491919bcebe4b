"""The keys or the values of a topic: the schemas that wrote them, and what they are read as."""

from collections.abc import Iterable, Mapping

import attrs

from ingest import avro
from ingest.compile.envelope import Kind
from ingest.compile.variant import Variant
from ingest.names import SchemaId


@attrs.frozen
class Written:
    """A schema that records were written with: `label` names it in messages.

    `frame` is what stands before a record that it wrote, where the bytes themselves hold the schema;
    `version` is its number in its subject, 0 where it has none.
    """

    schema_id: SchemaId
    label: str
    schema: avro.Schema
    frame: bytes = b""
    version: int = 0


@attrs.frozen
class Writer:
    """How to decode what one schema wrote.

    `wire` is its Avro JSON, empty for what is not decoded; `names` gives the reader's field of each column,
    for bytes that name their fields; `record` is what holds the columns, None where that is not known.
    """

    schema_id: SchemaId
    label: str
    kind: Kind
    wire: str = ""
    names: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    frame: bytes = b""
    version: int = 0
    record: avro.Record | None = None


@attrs.frozen
class Side:
    """The keys or the values of a topic; `images` are the reader's fields that hold columns ("": itself)."""

    writers: tuple[Writer, ...]
    variants: tuple[Variant, ...]
    reader: str
    images: tuple[str, ...] = ("",)

    def writer(self, schema_id: SchemaId) -> Writer | None:
        """Return the writer of an id, if it is one of these."""
        return next((one for one in self.writers if one.schema_id == schema_id), None)

    def columns(self, ids: Iterable[SchemaId] | None = None) -> dict[str, tuple[Variant, ...]]:
        """Return the variants of each column that these schemas (all, if None) wrote, in order."""
        wanted = None if ids is None else frozenset(ids)
        found: dict[str, tuple[Variant, ...]] = {}
        for variant in self.variants:
            if wanted is None or wanted.intersection(variant.writers):
                found[variant.column] = (*found.get(variant.column, ()), variant)
        return found
