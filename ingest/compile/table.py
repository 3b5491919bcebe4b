"""Key and value schemas, all versions of them, compiled into one table.

Every record is decoded with the schema that wrote it, projected by name onto one reader.  A column that was
written in several ways (int, then long; scale 2, then 4; milliseconds, then nanoseconds) has one *variant* for
each: a field of its own in the reader, so that no value is ever read as another's type.  Names are not on the
wire, so a writer's schema may call its fields by their variants' names (`c0`, `c1`, …).
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ingest import avro
from ingest.compile import sparktype
from ingest.compile.column import Mapped, Mapper, reader_record
from ingest.compile.envelope import Envelope, Kind, classify, find_envelope
from ingest.compile.sparktype import SparkType
from ingest.dialects import DIALECTS, Dialect
from ingest.errors import SchemaError
from ingest.names import SchemaId
from ingest.tables import Column, Table

RESERVED = ("_cdc_", "_hoodie_")
"""How the names of columns begin that belong to `ingest` and to Hudi."""


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
class Variant:
    """One way in which a column was written; `origin` is its name there, `field` that in the reader."""

    column: str
    origin: str
    field: str
    mapped: Mapped
    writers: tuple[SchemaId, ...]


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
    key_names = table.key.columns or _key_fields(table, keys)
    key_in_row = set(key_names) != set(_key_fields(table, keys)) if keys else True
    key = _compile_keys(table, dialect, keys)
    value = _compile_values(table, dialect, values, envelopes, key_names if key_in_row else ())
    held = value if key_in_row else key
    columns = _key_columns(table, held, key_names)
    return CompiledTable(table, dialect, key, value, columns, key_in_row)


# --- keys --------------------------------------------------------------------------------------


def _key_fields(table: Table, keys: Sequence[Written]) -> tuple[str, ...]:
    if not keys:
        raise SchemaError(
            f"topic {table.topic}",
            "$key",
            "has no key schema, so its rows have no identity",
            "Name the columns that are unique: [key] columns = [...]",
        )
    record = keys[-1].schema
    if not isinstance(record, avro.Record):
        raise SchemaError(keys[-1].label, "$", "is no record, so it names no key columns")
    return tuple(field.name for field in record.fields)


def _compile_keys(table: Table, dialect: Dialect, keys: Sequence[Written]) -> Side:
    images = {w.schema_id: w.schema for w in keys if isinstance(w.schema, avro.Record)}
    variants = _variants(table, dialect, [w for w in keys if w.schema_id in images], images)
    writers = tuple(
        Writer(
            w.schema_id,
            w.label,
            "data",
            _wire(w.schema, images[w.schema_id], variants, w.schema_id),
        )
        for w in keys
        if w.schema_id in images
    )
    return Side(writers, variants, _json(reader_record("K", _readers(variants))))


def _key_columns(table: Table, side: Side, names: Sequence[str]) -> tuple[tuple[str, SparkType], ...]:
    columns = side.columns()
    found = []
    for name in (_target_name(table, name) for name in names):
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
    images = {schema_id: envelope.row for schema_id, envelope in envelopes.items()}
    data = [written for written in values if written.schema_id in envelopes]
    variants = _variants(table, dialect, data, images)
    writers = tuple(_value_writer(written, images, variants) for written in values)
    source: dict[str, Any] = {term.field: term.avro for term in dialect.terms}
    parts: dict[str, Any] = {
        "after": reader_record("Row", _readers(variants)),
        "source": reader_record("Source", {**source, "ts_ms": "long"}),
        "op": "string",
    }
    if key_in_row:
        names = {_target_name(table, name) for name in key_in_row}
        parts["before"] = reader_record("Before", _readers(v for v in variants if v.column in names))
    return Side(writers, variants, _json(reader_record("Event", parts)))


def _value_writer(
    written: Written, images: Mapping[SchemaId, avro.Record], variants: Sequence[Variant]
) -> Writer:
    kind = classify(written.schema)
    if kind is None:
        raise SchemaError(written.label, "$", "is neither a change event nor anything known beside one")
    if kind != "data":
        return Writer(written.schema_id, written.label, kind)
    image = images[written.schema_id]
    wire = _wire(written.schema, image, variants, written.schema_id)
    return Writer(written.schema_id, written.label, kind, wire)


# --- variants ----------------------------------------------------------------------------------


def _variants(
    table: Table,
    dialect: Dialect,
    written: Sequence[Written],
    images: Mapping[SchemaId, avro.Record],
) -> tuple[Variant, ...]:
    """Compile every column of every schema, and join what was written in the same way."""
    found: dict[str, list[Variant]] = {}
    for one in written:
        mapper = Mapper(one.label, table.types, table.columns, dialect.tick_ns)
        for field in images[one.schema_id].fields:
            if table.columns.get(field.name, Column()).exclude:
                continue
            mapped = mapper.column(field.name, field.type, f"$.after.{field.name}")
            name = _check_name(_target_name(table, field.name), found, one.label)
            _add(found.setdefault(name, []), Variant(name, field.name, "", mapped, (one.schema_id,)))
    flat = (variant for variants in found.values() for variant in variants)
    return tuple(attrs.evolve(variant, field=f"c{index}") for index, variant in enumerate(flat))


def _add(variants: list[Variant], new: Variant) -> None:
    for index, old in enumerate(variants):
        if (old.mapped, old.origin) == (new.mapped, new.origin):
            variants[index] = attrs.evolve(old, writers=(*old.writers, *new.writers))
            return
    variants.append(new)


def _check_name(name: str, found: Mapping[str, object], label: str) -> str:
    if name.lower().startswith(RESERVED):
        raise SchemaError(
            label, f"$.after.{name}", "is a name that ingest and Hudi keep for themselves",
            f'Give it another: [columns.{name}] rename = "..."',
        )  # fmt: skip
    twin = next((other for other in found if other != name and other.lower() == name.lower()), None)
    if twin:
        raise SchemaError(
            label, f"$.after.{name}", f"differs from '{twin}' in letter case alone; Spark cannot tell them apart",
            f'Give one another name: [columns.{name}] rename = "..."',
        )  # fmt: skip
    return name


def _target_name(table: Table, field: str) -> str:
    return table.columns.get(field, Column()).rename or field


def _readers(variants: Iterable[Variant]) -> dict[str, Any]:
    return {variant.field: variant.mapped.reader for variant in variants}


def _wire(schema: avro.Schema, image: avro.Record, variants: Sequence[Variant], schema_id: SchemaId) -> str:
    """Return a writer's JSON in which every column is called as its variant; others get no reader's name."""
    mine = {v.origin: v.field for v in variants if schema_id in v.writers}
    names = {f.name: mine.get(f.name, f"x{index}") for index, f in enumerate(image.fields)}
    return _json(avro.render(schema, {image.name: names}))


def merged_type(variants: Sequence[Variant], where: str) -> SparkType:
    """Return the narrowest type that holds every variant.  Raises `SchemaError` where none does."""
    merged = variants[0].mapped.spark
    for variant in variants[1:]:
        wider = sparktype.widest(merged, variant.mapped.spark)
        if wider is None:
            raise SchemaError(
                where, f"$.{variant.column}",
                f"was written as {merged} and as {variant.mapped.spark}, and no type holds both",
            )  # fmt: skip
        merged = wider
    return merged


def _json(node: Any) -> str:
    return json.dumps(node, separators=(",", ":"))
