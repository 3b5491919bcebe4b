"""The versions of columns, each with a separate field.

Every record is decoded with the schema that wrote it, projected by name onto one reader.  A column that was
written in several ways (int, then long, or scale 2, then 4, or milliseconds, then nanoseconds) has one
*version* for each: a separate field in the reader, so that no value is ever read as another's type.  Names
are not on the wire, so a writer's schema may call its fields by the names of these versions (`c0`, `c1`, …).
"""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ingest import avro
from ingest.dialects import Dialect
from ingest.errors import SchemaError, TableFileError
from ingest.masking import Mask, strictest
from ingest.names import SchemaId
from ingest.sql import types as spark_types
from ingest.sql.names import RULE, folded, shown
from ingest.sql.types import SparkType
from ingest.tables import Column, Feed, TableConfig
from ingest.tables.rules import RESERVED
from ingest.typemap.column import Mapped, Mapper, reader_record
from ingest.typemap.lookup import rows_of
from ingest.typemap.masks import masked


@attrs.frozen
class Image:
    """The columns of a row or of a key, as one schema has them.  `label` names it in messages."""

    schema_id: SchemaId
    label: str
    record: avro.Record
    version: int = 0

    def fields(self, column_versions: "Iterable[ColumnVersion]") -> dict[str, str]:
        """Return the reader's field of each column, by its name in this schema."""
        return {v.origin: v.field for v in column_versions if self.schema_id in v.writers}


@attrs.frozen
class ColumnVersion:
    """One way in which a column was written.  `origin` is its name there, `field` its name in the reader."""

    column: str
    origin: str
    field: str
    mapped: Mapped
    writers: tuple[SchemaId, ...]


def compile_columns(
    feed: Feed, dialect: Dialect, images: Sequence[Image], root: str
) -> tuple[ColumnVersion, ...]:
    """Compile every column of every image, and join the versions that were written in the same way.

    `root` is the images' path in their schemas.  A column with an Avro alias that names one of an older
    schema is that one.  Raises `SchemaError` or `UnmappedTypeError`.
    """
    table, by_column = feed.table, dict[str, list[ColumnVersion]]()
    by_folded: dict[str, str] = {}
    named = _column_names(feed, images)
    masks = _column_masks(feed, images, named)
    for image in images:
        mapper = Mapper(
            image.label,
            table.types,
            table.columns,
            table.types.placeholder if dialect.has_placeholders else "",
            rows_of(dialect),
        )
        for field in image.record.fields:
            if table.columns.get(field.name, Column()).exclude:
                continue
            path = f"{root}.{shown(field.name)}"
            name = _check_name(named[field.name], by_folded, image.label, path)
            mapped = mapper.column(field.name, field.type, path)
            if name in masks:
                mapped = _masked(mapped, masks[name], feed, image.label, path)
            new = ColumnVersion(name, field.name, "", mapped, (image.schema_id,))
            _check_origin(new, by_column.setdefault(name, []), image.label, path)
            _add(by_column[name], new)
    flat = (column_version for column_versions in by_column.values() for column_version in column_versions)
    return tuple(attrs.evolve(column_version, field=f"c{index}") for index, column_version in enumerate(flat))


def _column_names(feed: Feed, images: Sequence[Image]) -> dict[str, str]:
    """Return the column of each field name, in the order of versions: a deleted one may be the newest.

    Versions of several topics come in the order in which the table met them.
    """
    names: dict[str, str] = {}
    ordered = images if feed.source else sorted(images, key=lambda image: image.version or sys.maxsize)
    for image in ordered:
        for field in image.record.fields:
            names.setdefault(field.name, _named(feed.table, field, image, names))
    return names


def _column_masks(feed: Feed, images: Sequence[Image], named: Mapping[str, str]) -> dict[str, Mask]:
    """Return the mask of each masked column: the strictest of those that any of its names has.

    A name that a version gives up as an alias counts, even if the table keeps the two apart.
    """
    masks: dict[str, set[Mask]] = {}
    for field in (field for image in images for field in image.record.fields):
        choices = (_mask_of(feed, name) for name in (field.name, *field.aliases))
        masks.setdefault(named[field.name], set()).update(mask for mask in choices if mask)
    return {column: mask for column, choices in masks.items() if (mask := strictest(choices))}


def _mask_of(feed: Feed, field: str) -> Mask | None:
    """Return a field's mask: the table file's, else the one from its tags."""
    return feed.table.columns.get(field, Column()).mask or feed.masking.columns.get(field)


def _masked(mapped: Mapped, mask: Mask, feed: Feed, label: str, path: str) -> Mapped:
    """Mask a column's values.  Raises `TableFileError` without a salt, `SchemaError` for other types."""
    salt_id = feed.masking.salt_id
    if mask == "hash" and not salt_id:
        raise TableFileError(
            f"{feed.name}.toml", f"columns.{path.rpartition('.')[2]}.mask", "'hash' needs a salt",
            "Set [masking] salt in the settings",
        )  # fmt: skip
    result = masked(mapped, mask, salt_id)
    if result is None and mask in feed.masking.columns.values():
        result = masked(mapped, "redact", "")  # the mask of a tag is for columns of any type
    if result is None:
        raise SchemaError(
            label, path, f"a {mapped.spark} cannot have the mask '{mask}'", 'Use "redact" or "null"'
        )
    return result


def _named(table: TableConfig, field: avro.Field, image: Image, known: Mapping[str, str]) -> str:
    """Return a column's name: the table file's, or the name of the column that it was before.

    `known` has the columns of all names so far.
    """
    name = target_name(table, field.name)
    if name != field.name or table.policy("column-renamed") == "ignore":
        return name
    former = (alias for alias in field.aliases if alias in known and image.record.field(alias) is None)
    return next((known[alias] for alias in former), name)


def _add(column_versions: list[ColumnVersion], new: ColumnVersion) -> None:
    for index, old in enumerate(column_versions):
        if (old.mapped, old.origin) == (new.mapped, new.origin):
            column_versions[index] = attrs.evolve(old, writers=(*old.writers, *new.writers))
            return
    column_versions.append(new)


def _check_name(name: str, by_folded: dict[str, str], label: str, path: str) -> str:
    """Refuse a column's name that no table can hold.  `by_folded` has the names so far, folded."""
    if not avro.is_name(name):
        raise SchemaError(
            label, path, f"'{shown(name)}' is not a name that Hudi accepts: {RULE}",
            f'Give it another: [columns.{json.dumps(shown(name))}] rename = "..."',
        )  # fmt: skip
    if name.lower().startswith(RESERVED):
        raise SchemaError(
            label, path, "is a name that ingest and Hudi reserve",
            f'Give it another: [columns.{name}] rename = "..."',
        )  # fmt: skip
    twin = by_folded.setdefault(folded(name), name)
    if twin != name:
        raise SchemaError(
            label, path, f"differs from '{twin}' only in letter case; Spark cannot tell them apart",
            f'Give one another name: [columns.{name}] rename = "..."',
        )  # fmt: skip
    return name


def _check_origin(
    new: ColumnVersion, column_versions: Iterable[ColumnVersion], label: str, path: str
) -> None:
    """Refuse two columns of one row under one name.  In different versions, both may have it."""
    for old in column_versions:
        if old.origin != new.origin and set(old.writers).intersection(new.writers):
            raise SchemaError(
                label, path,
                f"'{new.column}' is the name of column '{old.origin}' and of column '{new.origin}'",
                f'Give one another name: [columns.{new.origin}] rename = "..."',
            )  # fmt: skip


def target_name(table: TableConfig, field: str) -> str:
    """Return the name of a source column in the table."""
    return table.columns.get(field, Column()).rename or field


def merged_type(column_versions: Sequence[ColumnVersion], where: str) -> SparkType:
    """Return the narrowest type that holds every version.  Raises `SchemaError` for lack of one."""
    merged, units = column_versions[0].mapped.spark, column_versions[0].mapped.units
    for column_version in column_versions[1:]:
        if column_version.mapped.clash(units):
            raise SchemaError(
                where, f"$.{column_version.column}",
                f"was written as {column_versions[0].mapped.described} and as "
                f"{column_version.mapped.described}: values of two units cannot share a column",
            )  # fmt: skip
        wider = spark_types.widest(merged, column_version.mapped.spark)
        if wider is None:
            raise SchemaError(
                where, f"$.{column_version.column}",
                f"was written as {merged} and as {column_version.mapped.spark}, and no type holds both",
            )  # fmt: skip
        merged = wider
    return merged


# --- Avro JSON -----------------------------------------------------------------------------------


def readers(column_versions: Iterable[ColumnVersion]) -> dict[str, Any]:
    """Return the type to read each version as, by its field."""
    return {column_version.field: column_version.mapped.reader for column_version in column_versions}


def reader_json(name: str, fields: Mapping[str, Any]) -> str:
    """Return the JSON of a record to read with."""
    return _json(_defined_once(reader_record(name, fields), set()))


def wire_json(schema: avro.Schema, image: Image, column_versions: Sequence[ColumnVersion]) -> str:
    """Return a writer's JSON: every column has its version's name, other fields have no reader's name."""
    mine = image.fields(column_versions)
    names = {f.name: mine.get(f.name, f"x{index}") for index, f in enumerate(image.record.fields)}
    return _json(avro.render(schema, {image.record.name: names}))


def _defined_once(node: Any, names: set[str]) -> Any:
    """Return a reader's JSON in which no name is defined twice, as Avro demands.

    A struct gets a new name.  An enum or a fixed must have its writer's name, and is only named.
    """
    match node:
        case {"type": "enum" | "fixed", "name": name} if name in names:
            return name
        case {"type": "record" | "enum" | "fixed" as kind, "name": name}:
            name = f"{name}_{len(names)}" if kind == "record" else name
            names.add(name)
            return {**{key: _defined_once(value, names) for key, value in node.items()}, "name": name}
        case dict():
            return {key: _defined_once(value, names) for key, value in node.items()}
        case list():
            return [_defined_once(child, names) for child in node]
        case _:
            return node


def _json(node: Any) -> str:
    return json.dumps(node, separators=(",", ":"))
