"""One Avro type compiled: how to read it, what it becomes, how, and when it cannot."""

from collections.abc import Mapping
from typing import Any, assert_never

import attrs

from ingest import avro
from ingest.compile import sparktype
from ingest.compile.sparktype import ArrayOf, MapOf, Simple, SparkType, Struct, parse_ddl, quote
from ingest.compile.typetable import POLICIES, TYPES, TYPES_BY_TICK, TypeRow
from ingest.errors import SchemaError, UnmappedTypeError
from ingest.tables import Column, Types

UNKNOWN_PRECISION = 64
"""What Confluent's and Apicurio's converters write for a decimal without a precision."""


@attrs.frozen
class Mapped:
    """A compiled type.

    `reader` is the Avro JSON (without the null branch) to decode with; `sql` makes the Spark value of the
    decoded one, `{c}`; `fault` is SQL that is true where it cannot, or empty where it always can.
    """

    semantic: str
    physical: str
    spark: SparkType
    reader: Any = attrs.field(hash=False)
    sql: str = "{c}"
    fault: str = ""
    unit: str = ""
    loses: str = ""

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

    def column(self, name: str, schema: avro.Schema, path: str) -> Mapped:
        """Compile one column of the row image, under its own policies."""
        rule = self.columns.get(name, Column())
        policies = attrs.evolve(
            self.types,
            time=rule.time or self.types.time,
            nanos=rule.nanos or self.types.nanos,
        )
        mapped = attrs.evolve(self, types=policies).map(avro.not_null(schema), path)
        return mapped if rule.type is None else self._declare(mapped, rule.type, path)

    def map(self, schema: avro.Schema, path: str) -> Mapped:
        """Compile a type.  Raises `UnmappedTypeError` with its path."""
        match schema:
            case avro.Scalar(physical=physical, notes=notes) if physical != "null":
                return self._scalar(physical, notes, path)
            case avro.Enum() | avro.Fixed():
                return self._named(schema, path)
            case avro.Array(items=items):
                return self._array(items, path)
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
        reader: Any = physical
        spark = row.spark
        if row.logical == "decimal":
            precision, scale = self._decimal(notes, path)
            spark = spark.format(precision=precision, scale=scale)
            reader = {
                "type": physical,
                "logicalType": "decimal",
                "precision": precision,
                "scale": scale,
            }
        elif row.logical:
            reader = {"type": physical, "logicalType": row.logical}
        kind = parse_ddl(spark)
        return Mapped(notes.semantic, physical, kind, reader, row.sql, row.fault, row.unit, row.loses)

    def _row(self, notes: avro.Notes, physical: str, path: str) -> TypeRow:
        """Look a row up: by `connect.name`, else `logicalType`, else the bare physical type."""
        semantic = notes.semantic
        policy = {"time": self.types.time, "nanos": self.types.nanos}.get(POLICIES.get(semantic, ""), "")
        policy = "string" if (semantic.endswith("IsoTimestamp") and policy == "bigint") else policy
        key = (semantic, physical, policy)
        row = (TYPES_BY_TICK[self.tick_ns].get(key) if self.tick_ns else None) or TYPES.get(key)
        if row is None:
            raise UnmappedTypeError(self.where, path, semantic, physical)
        return row

    def _decimal(self, notes: avro.Notes, path: str) -> tuple[int, int]:
        """Return precision and scale; the scale is the parameter's, not the annotation's.

        A decimal of unknown precision gets all 38 digits; a value with more cannot be decoded.
        """
        text = notes.parameter("scale")
        scale = notes.scale or 0 if text is None else int(text)
        declared = notes.parameter("connect.decimal.precision")
        precision = int(declared) if declared else notes.precision
        if precision is None or (not declared and precision == UNKNOWN_PRECISION):
            precision = sparktype.MAX_PRECISION
        digits = max(precision, scale)
        if scale < 0 or digits > sparktype.MAX_PRECISION:
            raise SchemaError(
                self.where,
                path,
                f"a decimal({precision},{scale}) does not fit Spark's 38 digits",
                "Exclude the column, or set the connector's decimal.handling.mode to string",
            )
        return digits, scale

    def _named(self, schema: avro.Enum | avro.Fixed, path: str) -> Mapped:
        physical = _physical(schema)
        row = self._row(schema.notes, physical, path)
        return Mapped(schema.notes.semantic, physical, parse_ddl(row.spark), avro.render(schema))

    def _array(self, items: avro.Schema, path: str) -> Mapped:
        item = self.map(items, f"{path}[]")
        return Mapped(
            "",
            "array",
            ArrayOf(item.spark),
            {"type": "array", "items": _nullable(item.reader)},
            "{c}" if item.is_plain else f"transform({{c}}, x -> {item.convert('x')})",
            item.fault and f"exists({{c}}, x -> coalesce({item.fails('x')}, false))",
            item.unit,
            item.loses,
        )

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
        if record.notes.connect_name.startswith(("io.debezium.data.", "io.debezium.time.")):
            raise UnmappedTypeError(self.where, path, record.notes.connect_name, "record")
        fields = {f.name: self.map(f.type, f"{path}.{f.name}") for f in record.fields}
        parts = ", ".join(f"'{n}', {m.convert('{c}.' + quote(n))}" for n, m in fields.items())
        faults = [m.fails("{c}." + quote(n)) for n, m in fields.items() if m.fault]
        return Mapped(
            "",
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
        if sparktype.widest(mapped.spark, target) != target:
            raise SchemaError(
                self.where,
                path,
                f"'{declared}' cannot be declared for a {mapped.spark}",
                "Declare a wider type of the same kind, or string where the source sends text",
            )
        sql = sparktype.reshape(mapped.sql, mapped.spark, target)
        return attrs.evolve(mapped, spark=target, sql=sql)


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
