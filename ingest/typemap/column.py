"""Compile one Avro type: how to read it, its Spark type, its conversion, and the values without one."""

from collections.abc import Mapping
from typing import Any, assert_never

import attrs

from ingest import avro
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.sql import types as spark_types
from ingest.sql.names import check_fields
from ingest.sql.template import any_true, sql, struct
from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, Struct, parse_ddl
from ingest.tables import Column, Types
from ingest.typemap.decimals import declared_sql, is_number_text, plain_sql, shape_of
from ingest.typemap.lookup import Rows, find_row, find_structure, has_meaning, semantic_of
from ingest.typemap.mapped import Mapped, of_row
from ingest.typemap.rows import TYPES, VALUE, TypeRow
from ingest.typemap.unavailable import unavailable_sql

__all__ = ["Mapped", "Mapper", "reader_record"]


@attrs.frozen
class Mapper:
    """Compiles types under one table's policies.  `where` names the schema in errors."""

    where: str
    types: Types = Types()
    columns: Mapping[str, Column] = attrs.Factory(dict)
    placeholder: str = ""
    """The source's sign for unavailable values, empty if it has no such sign."""
    rows: Rows = TYPES
    """The rows of the type table that its source has."""

    def column(self, name: str, schema: avro.Schema, path: str) -> Mapped:
        """Compile one column of the row image, under its own policies."""
        rule = self.columns.get(name, Column())
        policies = attrs.evolve(
            self.types,
            time=rule.time or self.types.time,
            nanos=rule.nanos or self.types.nanos,
            out_of_range=rule.out_of_range or self.types.out_of_range,
            decimals="string" if rule.type else self.types.decimals,  # a declared type is made of the text
        )
        mapped = attrs.evolve(self, types=policies).map(avro.not_null(schema), path)
        if rule.type is not None:
            mapped = self._declare(mapped, rule.type, path)
        if not self.placeholder or not mapped.is_plain:
            return mapped
        return attrs.evolve(mapped, unavailable=unavailable_sql(schema, self.placeholder))

    def map(self, schema: avro.Schema, path: str) -> Mapped:
        """Compile a type.  Raises `UnmappedTypeError` with its path."""
        match schema:
            case avro.Scalar(physical=physical, notes=notes) if physical != "null":
                return self._scalar(physical, notes, path)
            case avro.Enum() | avro.Fixed():
                return self._named(schema, path)
            case avro.Array():
                return self._array(schema, path)
            case avro.MapOf():
                return self._map(schema, path)
            case avro.Record():
                return self._record(schema, path)
            case avro.Nullable(of=of):
                return self.map(of, path)
            case avro.Union() | avro.Scalar():
                raise UnmappedTypeError(self.where, path, "", _physical(schema))
            case _:
                assert_never(schema)

    def _scalar(self, physical: str, notes: avro.Notes, path: str) -> Mapped:
        row = self._row(notes, physical, path)
        if row.logical == "decimal":
            return self._decimal(physical, notes, path)
        reader = {"type": physical, "logicalType": row.logical} if row.logical else physical
        return of_row(row, reader, self.types.out_of_range)

    def _row(self, notes: avro.Notes, physical: str, path: str) -> TypeRow:
        """Find the row: by `connect.name`, else `logicalType`, else the bare physical type."""
        row = find_row(notes, physical, self.types, self.rows)
        if row is None:
            raise UnmappedTypeError(self.where, path, semantic_of(notes), physical)
        return row

    def _decimal(self, physical: str, notes: avro.Notes, path: str) -> Mapped:
        """Compile a decimal: by Spark's decoder, or from its bytes if Avro has no such decimal."""
        shape, semantic = shape_of(notes, self.where, path), notes.semantic
        if shape.fits and shape.scale >= 0:
            target = shape.target
            reader = {
                "type": physical,
                "logicalType": "decimal",
                "precision": target.precision,
                "scale": target.scale,
            }
            return Mapped(semantic, physical, target, reader)
        text = plain_sql(shape.scale)
        if shape.fits:
            value, fault = declared_sql(text, shape.target)
            return Mapped(semantic, physical, shape.target, physical, value, fault)
        if self.types.decimals == "string":
            unit = f"decimal({shape.precision},{shape.scale}), in plain notation"
            fault = sql("{c} is not null and {out} is null")  # empty bytes are not a number
            return Mapped(
                semantic, physical, Simple("string"), physical, text, fault, unit, units={"": "number"}
            )
        raise SchemaError(
            self.where,
            path,
            f"a decimal({shape.precision},{shape.scale}) does not fit Spark's 38 digits",
            'Exclude the column, declare its type, or keep all of them as text: [types] decimals = "string"',
        )

    def _named(self, schema: avro.Enum | avro.Fixed, path: str) -> Mapped:
        physical = _physical(schema)
        row = self._row(schema.notes, physical, path)
        return Mapped(schema.notes.semantic, physical, parse_ddl(row.spark), avro.render(schema))

    def _array(self, array: avro.Array, path: str) -> Mapped:
        self._check_structure(array.notes, "array", path)
        item = self.map(array.items, f"{path}[]")
        fault = item.fails(sql("x"))
        return Mapped(
            array.notes.connect_name,
            "array",
            ArrayOf(item.spark),
            {"type": "array", "items": _nullable(item.reader)},
            VALUE if item.is_plain else sql("transform({c}, x -> {item})", item=item.convert(sql("x"))),
            fault and sql("exists({c}, x -> coalesce({fault}, false))", fault=fault),
            item.unit,
            item.loses,
            merges=item.merges,
            units={f"[]{key}": unit for key, unit in item.units.items()},
        )

    def _check_structure(self, notes: avro.Notes, physical: str, path: str) -> TypeRow | None:
        """Find the row for a structure's name.  Raise for a meaning without a row."""
        row = find_structure(notes, physical)
        if row is None and has_meaning(notes, physical):
            raise UnmappedTypeError(self.where, path, notes.connect_name, physical)
        return row

    def _map(self, pairs: avro.MapOf, path: str) -> Mapped:
        self._check_structure(pairs.notes, "map", path)
        value = self.map(pairs.values, f"{path}{{}}")
        fault = value.fails(sql("v"))
        return Mapped(
            "",
            "map",
            MapOf(value.spark),
            {"type": "map", "values": _nullable(value.reader)},
            VALUE
            if value.is_plain
            else sql("transform_values({c}, (k, v) -> {value})", value=value.convert(sql("v"))),
            fault and sql("exists(map_values({c}), v -> coalesce({fault}, false))", fault=fault),
            value.unit,
            value.loses,
            merges=value.merges,
            units={f"{{}}{key}": unit for key, unit in value.units.items()},
        )

    def _record(self, record: avro.Record, path: str) -> Mapped:
        row = self._check_structure(record.notes, "record", path)
        if row and row.spark:
            reader = reader_record("Struct", {f.name: _reader_of(f) for f in record.fields})
            return of_row(row, reader, self.types.out_of_range)
        check_fields([f.name for f in record.fields], self.where, path)
        fields = {f.name: self.map(f.type, f"{path}.{f.name}") for f in record.fields}
        return _struct_of(fields, row.semantic if row else "")

    def _declare(self, mapped: Mapped, declared: str, path: str) -> Mapped:
        """Compile a column of a declared type: a wider one, or the source's text."""
        target = parse_ddl(declared)
        if target == Simple("string") and mapped.physical in ("string", "enum"):
            return attrs.evolve(
                mapped, spark=target, sql=VALUE, fault=None, loses="", merges="", units={"": ""}
            )
        if isinstance(target, Decimal) and is_number_text(mapped.semantic, mapped.spark):
            value, fault = declared_sql(mapped.sql, target)
            return attrs.evolve(mapped, spark=target, sql=value, fault=fault, units={"": ""})
        if spark_types.widest(mapped.spark, target) != target:
            raise SchemaError(
                self.where,
                path,
                f"'{declared}' cannot be declared for a {mapped.spark}",
                "Declare a wider type of the same kind, or string where the source sends text",
            )
        return attrs.evolve(mapped, spark=target, sql=spark_types.reshape(mapped.sql, mapped.spark, target))


def _struct_of(fields: Mapping[str, Mapped], semantic: str) -> Mapped:
    """Compile a struct of compiled fields."""
    values = struct((name, mapped.convert(VALUE.field(name))) for name, mapped in fields.items())
    faults = [fault for name, mapped in fields.items() if (fault := mapped.fails(VALUE.field(name)))]
    plain = all(mapped.is_plain for mapped in fields.values())
    return Mapped(
        semantic,
        "record",
        Struct(tuple((name, mapped.spark) for name, mapped in fields.items())),
        reader_record("Struct", {name: mapped.reader for name, mapped in fields.items()}),
        # Without the test, a null struct would become a struct of nulls.
        VALUE if plain else sql("if({c} is null, null, {values})", values=values),
        any_true(faults) if faults else None,
        units={
            f".{name}{key}": unit for name, mapped in fields.items() for key, unit in mapped.units.items()
        },
    )


def _reader_of(field: avro.Field) -> Any:
    """Return the type to read a field of a structure with a meaning as: its bare physical type."""
    return _physical(avro.not_null(field.type))


def _physical(schema: avro.Schema) -> str:
    match schema:
        case avro.Scalar(physical=physical):
            return physical
        case _:
            return type(schema).__name__.lower()


def reader_record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a record to read with: every field nullable, absent ones null."""
    rendered = [
        {"name": field, "type": _nullable(reader), "default": None} for field, reader in fields.items()
    ]
    return {"type": "record", "name": name, "fields": rendered}


def _nullable(reader: Any) -> list[Any]:
    return ["null", reader]
