"""One Avro type compiled: how to read it, what it becomes, how, and when it cannot."""

from collections.abc import Mapping
from typing import Any, assert_never

import attrs

from ingest import avro
from ingest.compile import sparktype
from ingest.compile.decimal import declared_sql, is_number_text, plain_sql, shape_of
from ingest.compile.sparktype import ArrayOf, Decimal, MapOf, Simple, SparkType, Struct, parse_ddl, quote
from ingest.compile.typetable import POLICIES, TYPES, TYPES_BY_TICK, TYPES_OF_DURATIONS, TypeRow
from ingest.compile.unavailable import unavailable_sql
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.tables import Column, Types

_VENDOR_NAMES = ("cdc.data.Decimal", "cdc.data.timestamp")
"""Names that CDL puts behind a vendor's package, which varies."""
_OUTSIDE = "infinity, and dates outside the years 1 to 9999 (null)"


@attrs.frozen
class Mapped:
    """A compiled type.

    `reader` is the Avro JSON (without the null branch) to decode with; `sql` makes the Spark value of the
    decoded one, `{c}`; `fault` is SQL that is true where it cannot, or empty where it always can;
    `unavailable` is SQL that is true for a value that the source did not send, or empty where it always does.
    """

    semantic: str
    physical: str
    spark: SparkType
    reader: Any = attrs.field(hash=False)
    sql: str = "{c}"
    fault: str = ""
    unit: str = ""
    loses: str = ""
    unavailable: str = ""

    @property
    def is_plain(self) -> bool:
        """Tell whether the decoded value is the Spark value."""
        return self.sql == "{c}"

    def convert(self, value: str) -> str:
        """Return SQL that converts `value`."""
        return self.sql.replace("{c}", value)

    def fails(self, value: str, converted: str | None = None) -> str:
        """Return SQL that is true where `value` cannot be converted; empty where it always can.

        `converted` is where the result of `convert` already stands, so that it is not made twice.
        """
        out = self.convert(value) if converted is None else converted
        return self.fault.replace("{c}", value).replace("{out}", out)


@attrs.frozen
class Mapper:
    """Compiles types under one table's policies; `where` names the schema in errors."""

    where: str
    types: Types = Types()
    columns: Mapping[str, Column] = attrs.Factory(dict)
    tick_ns: int | None = None
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
            beyond=rule.beyond or self.types.beyond,
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
            case avro.MapOf(values=values):
                return self._map(values, path)
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
        return self._of_row(row, reader)

    def _of_row(self, row: TypeRow, reader: Any) -> Mapped:
        """Make what a row says, with its policy for what Spark's dates do not hold."""
        mapped = Mapped(
            row.semantic, row.physical, parse_ddl(row.spark), reader, row.sql, row.fault, row.unit, row.loses
        )
        if not row.beyond:
            return mapped
        if self.types.beyond == "null":
            inside = f"not coalesce({row.beyond}, false)"
            fault = row.fault and f"{inside} and ({row.fault})"
            loses = " and ".join(filter(None, (row.loses, _OUTSIDE)))
            return attrs.evolve(mapped, sql=f"if({inside}, {row.sql}, null)", fault=fault, loses=loses)
        return attrs.evolve(mapped, fault=" or ".join(filter(None, (row.beyond, row.fault))))

    def _row(self, notes: avro.Notes, physical: str, path: str) -> TypeRow:
        """Look a row up: by `connect.name`, else `logicalType`, else the bare physical type."""
        semantic = notes.semantic
        semantic = next((name for name in _VENDOR_NAMES if semantic.endswith(f".{name}")), semantic)
        policy = {"time": self.types.time, "nanos": self.types.nanos}.get(POLICIES.get(semantic, ""), "")
        policy = "string" if (semantic.endswith("IsoTimestamp") and policy == "bigint") else policy
        key = (semantic, physical, policy)
        special = [TYPES_BY_TICK[self.tick_ns]] if self.tick_ns else []
        special += [TYPES_OF_DURATIONS] if self.durations else []
        row = next((rows[key] for rows in (*special, TYPES) if key in rows), None)
        if row is None:
            raise UnmappedTypeError(self.where, path, semantic, physical)
        return row

    def _decimal(self, physical: str, notes: avro.Notes, path: str) -> Mapped:
        """Compile a decimal: by Spark's decoder, or from its bytes where Avro knows no such decimal."""
        shape, semantic = shape_of(notes), notes.semantic
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
            return Mapped(semantic, physical, Simple("string"), physical, text, unit=unit)
        raise SchemaError(
            self.where,
            path,
            f"a decimal({shape.precision},{shape.scale}) does not fit Spark's 38 digits",
            'Exclude the column, or keep it as text: [types] decimals = "string"',
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
        )

    def _check_structure(self, notes: avro.Notes, physical: str, path: str) -> TypeRow | None:
        """Look up what a structure's own name means; names of the connectors' without a row are errors."""
        name = notes.connect_name
        row = TYPES.get((name, physical, "")) if name else None
        if row is None and name.startswith(("io.debezium.data.", "io.debezium.time.", "org.apache.kafka.")):
            raise UnmappedTypeError(self.where, path, name, physical)
        return row

    def _map(self, values: avro.Schema, path: str) -> Mapped:
        value = self.map(values, f"{path}{{}}")
        return Mapped(
            "",
            "map",
            MapOf(value.spark),
            {"type": "map", "values": _nullable(value.reader)},
            "{c}" if value.is_plain else f"transform_values({{c}}, (k, v) -> {value.convert('v')})",
            value.fault and f"exists(map_values({{c}}), v -> coalesce({value.fails('v')}, false))",
            value.unit,
            value.loses,
        )

    def _record(self, record: avro.Record, path: str) -> Mapped:
        row = self._check_structure(record.notes, "record", path)
        if row and row.spark:
            return self._of_row(row, reader_record("Struct", {f.name: _reader_of(f) for f in record.fields}))
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
        )

    def _declare(self, mapped: Mapped, declared: str, path: str) -> Mapped:
        """Compile a column whose type a person declared: a wider one, or the source's own text."""
        target = parse_ddl(declared)
        if target == Simple("string") and mapped.physical in ("string", "enum"):
            return attrs.evolve(mapped, spark=target, sql="{c}", fault="", loses="")
        if isinstance(target, Decimal) and is_number_text(mapped.semantic, mapped.spark):
            sql, fault = declared_sql(mapped.sql, target)
            return attrs.evolve(mapped, spark=target, sql=sql, fault=fault)
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
