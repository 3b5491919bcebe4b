"""Key and value schemas, all versions of them, compiled into one table."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ingest import avro
from ingest.compile.column import reader_record
from ingest.compile.envelope import Envelope, Kind, classify, find_envelope
from ingest.compile.sparktype import SparkType
from ingest.compile.variant import (
    Image,
    Variant,
    compile_variants,
    merged_type,
    reader_json,
    readers,
    target_name,
    wire_json,
)
from ingest.dialects import DIALECTS, Dialect
from ingest.errors import SchemaError
from ingest.names import SchemaId
from ingest.tables import Table


@attrs.frozen
class Written:
    """A schema that records were written with: `label` names it in messages."""

    schema_id: SchemaId
    label: str
    schema: avro.Schema


@attrs.frozen
class Writer:
    """How to decode what one schema wrote; `wire` is its JSON, empty for what is not decoded."""

    schema_id: SchemaId
    label: str
    kind: Kind
    wire: str = ""


@attrs.frozen
class Side:
    """The keys or the values of a topic."""

    writers: tuple[Writer, ...]
    variants: tuple[Variant, ...]
    reader: str

    def columns(self, ids: Iterable[SchemaId] | None = None) -> dict[str, tuple[Variant, ...]]:
        """Return the variants of each column that these schemas (all, if None) wrote, in order."""
        wanted = None if ids is None else frozenset(ids)
        found: dict[str, tuple[Variant, ...]] = {}
        for variant in self.variants:
            if wanted is None or wanted.intersection(variant.writers):
                found[variant.column] = (*found.get(variant.column, ()), variant)
        return found


@attrs.frozen
class CompiledTable:
    """All that the later rooms need of one table."""

    table: Table
    dialect: Dialect
    key: Side
    value: Side
    key_columns: tuple[tuple[str, SparkType], ...]
    key_in_row: bool
    """Whether the key is taken from the row image instead of the message key."""

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The ids of the value schemas."""
        return tuple(writer.schema_id for writer in self.value.writers)


def compile_table(table: Table, keys: Sequence[Written], values: Sequence[Written]) -> CompiledTable:
    """Compile a table from every schema that its keys and values may have been written with.

    The order of `values` is the order of columns.  Raises `SchemaError` or `UnmappedTypeError`, with the
    schema's label and the field's path.
    """
    dialect = DIALECTS[table.dialect]
    envelopes = {
        written.schema_id: find_envelope(written.schema, written.label)
        for written in values
        if classify(written.schema) == "data"
    }
    if not envelopes:
        label = values[-1].label if values else str(table.subjects.value)
        raise SchemaError(label, "$", "is no change event", "Onboard topics of change events")
    _check_sources(dialect, values, envelopes)
    in_message = _message_key(keys)
    key_names = table.key.columns or in_message
    if not key_names:
        raise _no_key(table, keys)
    key_in_row = set(key_names) != set(in_message)
    key = _compile_keys(table, dialect, keys)
    value = _compile_values(table, dialect, values, envelopes, key_names if key_in_row else ())
    held = value if key_in_row else key
    columns = _key_columns(table, held, key_names)
    return CompiledTable(table, dialect, key, value, columns, key_in_row)


# --- keys --------------------------------------------------------------------------------------


def _message_key(keys: Sequence[Written]) -> tuple[str, ...]:
    """Return the columns of the newest message key."""
    newest = keys[-1].schema if keys else None
    return tuple(field.name for field in newest.fields) if isinstance(newest, avro.Record) else ()


def _no_key(table: Table, keys: Sequence[Written]) -> SchemaError:
    todo = "Name the columns that are unique: [key] columns = [...]"
    if keys:
        return SchemaError(keys[-1].label, "$", "is no record, so it names no key columns", todo)
    problem = "has no key schema, so its rows have no identity"
    return SchemaError(f"topic {table.topic}", "$key", problem, todo)


def _compile_keys(table: Table, dialect: Dialect, keys: Sequence[Written]) -> Side:
    images = [Image(w.schema_id, w.label, w.schema) for w in keys if isinstance(w.schema, avro.Record)]
    variants = compile_variants(table, dialect, images, "$")
    writers = tuple(
        Writer(image.schema_id, image.label, "data", wire_json(image.record, image, variants))
        for image in images
    )
    return Side(writers, variants, reader_json("K", readers(variants)))


def _key_columns(table: Table, side: Side, names: Sequence[str]) -> tuple[tuple[str, SparkType], ...]:
    columns = side.columns()
    found = []
    for name in (target_name(table, name) for name in names):
        if name not in columns:
            raise SchemaError(f"topic {table.topic}", f"$.{name}", "is no column, so it is no key")
        lossy = next((v.mapped.loses for v in columns[name] if v.mapped.loses), "")
        if lossy:
            raise SchemaError(
                f"topic {table.topic}",
                f"$.{name}",
                f"is a key column, and its type loses {lossy}: two keys could become one",
                f'Keep all of it: [columns.{name}] nanos = "string", time = "string" or type = "string"',
            )
        found.append((name, merged_type(columns[name], f"topic {table.topic}")))
    return tuple(found)


# --- values ------------------------------------------------------------------------------------


def _check_sources(
    dialect: Dialect, values: Sequence[Written], envelopes: Mapping[SchemaId, Envelope]
) -> None:
    for written in values:
        envelope = envelopes.get(written.schema_id)
        if envelope and envelope.source_record != dialect.source_record:
            raise SchemaError(
                written.label,
                "$.source",
                f"is a {envelope.source_record}, not {dialect.title}'s {dialect.source_record}",
                "Set the table file's dialect to the connector that writes this topic",
            )


def _compile_values(
    table: Table,
    dialect: Dialect,
    values: Sequence[Written],
    envelopes: Mapping[SchemaId, Envelope],
    key_in_row: Sequence[str],
) -> Side:
    images = {
        written.schema_id: Image(written.schema_id, written.label, envelopes[written.schema_id].row)
        for written in values
        if written.schema_id in envelopes
    }
    variants = compile_variants(table, dialect, tuple(images.values()), "$.after")
    writers = tuple(_value_writer(written, images.get(written.schema_id), variants) for written in values)
    source: dict[str, Any] = {term.field: term.avro for term in dialect.terms}
    parts: dict[str, Any] = {
        "after": reader_record("Row", readers(variants)),
        "source": reader_record("Source", {**source, "ts_ms": "long"}),
        "op": "string",
    }
    if key_in_row:
        names = {target_name(table, name) for name in key_in_row}
        parts["before"] = reader_record("Before", readers(v for v in variants if v.column in names))
    return Side(writers, variants, reader_json("Event", parts))


def _value_writer(written: Written, image: Image | None, variants: Sequence[Variant]) -> Writer:
    wire = wire_json(written.schema, image, variants) if image else ""
    return Writer(written.schema_id, written.label, classify(written.schema), wire)
