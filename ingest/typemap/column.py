"""One Avro type compiled: how to read it, what it becomes, how, and when it cannot."""

from collections.abc import Mapping
from typing import Any, assert_never

import attrs

from ingest import avro
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.tables import Column, Types
from ingest.typemap import sparktype
from ingest.typemap.decimals import declared_sql, is_number_text, plain_sql, shape_of
from ingest.typemap.lookup import find_row, find_structure, has_meaning, semantic_of
from ingest.typemap.mapped import Mapped, of_row
from ingest.typemap.rows import TypeRow
from ingest.typemap.sparktype import ArrayOf, Decimal, MapOf, Simple, Struct, parse_ddl, quote
from ingest.typemap.unavailable import unavailable_sql

__all__ = ["Mapped", "Mapper", "reader_record"]


@attrs.frozen
class Mapper:
    """Compiles types under one table's policies; `where` names the schema in errors."""

    where: str
    types: Types = Types()
    columns: Mapping[str, Column] = attrs.Factory(dict)
    time_resolution_ns: int | None = None
    placeholder: str = ""
    """What stands for unavailable values; empty where the source has none."""
    durations: bool = False
    """Whether times of day are durations."""

    def column(self, name: str, schema: avro.Schema, path: str) -> Mapped:
        """Compile one column of the row image, under its own policies."""
        rule = self.columns.get(name, Column())
        policies = attrs.evolve(
            self.types,
            time=rule.time or self.types.time,
            nanos=rule.nanos or self.types.nanos,
            out_of_range=rule.out_of_range or self.types.out_of_range,
            decimals="string" if rule.type else self.types.decimals,  # what is declared is made of the text
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
        """Look a row up: by `connect.name`, else `logicalType`, else the bare physical type."""
        row = find_row(
            notes, physical, self.types, time_resolution_ns=self.time_resolution_ns, durations=self.durations
        )
        if row is None:
            raise UnmappedTypeError(self.where, path, semantic_of(notes), physical)
        return row

    def _decimal(self, physical: str, notes: avro.Notes, path: str) -> Mapped:
        """Compile a decimal: by Spark's decoder, or from its bytes where Avro knows no such decimal."""
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
            sql, fault = declared_sql(text, shape.target)
            return Mapped(semantic, physical, shape.target, physical, sql, fault)
        if self.types.decimals == "string":
            unit = f"decimal({shape.precision},{shape.scale}), in plain notation"
            fault = "{c} is not null and {out} is null"  # no bytes are no number
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
        return Mapped(
            array.notes.connect_name,
            "array",
            ArrayOf(item.spark),
            {"type": "array", "items": _nullable(item.reader)},
            "{c}" if item.is_plain else f"transform({{c}}, x -> {item.convert('x')})",
            item.fault and f"exists({{c}}, x -> coalesce({item.fails('x')}, false))",
            item.unit,
            item.loses,
            merges=item.merges,
            units={f"[]{key}": unit for key, unit in item.units.items()},
        )

    def _check_structure(self, notes: avro.Notes, physical: str, path: str) -> TypeRow | None:
        """Look up what a structure's own name means; a meaning without a row is an error."""
        row = find_structure(notes, physical)
        if row is None and has_meaning(notes, physical):
            raise UnmappedTypeError(self.where, path, notes.connect_name, physical)
        return row

    def _map(self, pairs: avro.MapOf, path: str) -> Mapped:
        self._check_structure(pairs.notes, "map", path)
        value = self.map(pairs.values, f"{path}{{}}")
        return Mapped(
            "",
            "map",
            MapOf(value.spark),
            {"type": "map", "values": _nullable(value.reader)},
            "{c}" if value.is_plain else f"transform_values({{c}}, (k, v) -> {value.convert('v')})",
            value.fault and f"exists(map_values({{c}}), v -> coalesce({value.fails('v')}, false))",
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
        fields = {f.name: self.map(f.type, f"{path}.{f.name}") for f in record.fields}
        parts = ", ".join(f"'{n}', {m.convert('{c}.' + quote(n))}" for n, m in fields.items())
        faults = [m.fails("{c}." + quote(n)) for n, m in fields.items() if m.fault]
        return Mapped(
            row.semantic if row else "",
            "record",
            Struct(tuple((name, mapped.spark) for name, mapped in fields.items())),
            reader_record("Struct", {n: m.reader for n, m in fields.items()}),
            "{c}"
            if all(m.is_plain for m in fields.values())
            else f"if({{c}} is null, null, named_struct({parts}))",
            " or ".join(f"coalesce({fault}, false)" for fault in faults),
            units={f".{n}{key}": unit for n, m in fields.items() for key, unit in m.units.items()},
        )

    def _declare(self, mapped: Mapped, declared: str, path: str) -> Mapped:
        """Compile a column whose type a person declared: a wider one, or the source's own text."""
        target = parse_ddl(declared)
        if target == Simple("string") and mapped.physical in ("string", "enum"):
            return attrs.evolve(
                mapped, spark=target, sql="{c}", fault="", loses="", merges="", units={"": ""}
            )
        if isinstance(target, Decimal) and is_number_text(mapped.semantic, mapped.spark):
            sql, fault = declared_sql(mapped.sql, target)
            return attrs.evolve(mapped, spark=target, sql=sql, fault=fault, units={"": ""})
        if sparktype.widest(mapped.spark, target) != target:
            raise SchemaError(
                self.where,
                path,
                f"'{declared}' cannot be declared for a {mapped.spark}",
                "Declare a wider type of the same kind, or string where the source sends text",
            )
        sql = sparktype.reshape(mapped.sql, mapped.spark, target)
        return attrs.evolve(mapped, spark=target, sql=sql)


def _reader_of(field: avro.Field) -> Any:
    """Return what a field of a structure with a meaning is read as: its bare physical type."""
    return _physical(avro.not_null(field.type))


def _physical(schema: avro.Schema) -> str:
    match schema:
        case avro.Scalar(physical=physical):
            return physical
        case _:
            return type(schema).__name__.lower()


def reader_record(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON of a record to read with: every field nullable, absent ones null."""
    rendered = [{"name": field, "type": _nullable(kind), "default": None} for field, kind in fields.items()]
    return {"type": "record", "name": name, "fields": rendered}


def _nullable(reader: Any) -> list[Any]:
    return ["null", reader]
