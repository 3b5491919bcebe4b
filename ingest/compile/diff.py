"""The changes that a new version of a schema brings, column by column and all the way down.

Two views of one change.  Between two versions, every difference, also those that the table never notices
(a default, an enum's symbols): `differences`.  Between a type that a table holds and a wider one: `growth`.
"""

from collections.abc import Iterator

import attrs

from ingest import avro
from ingest.compile.column_versions import ColumnVersion
from ingest.compile.payload import Payload
from ingest.json_values import JsonValue
from ingest.names import SchemaId
from ingest.sql.types import ArrayOf, Decimal, MapOf, SparkType, Struct, widest
from ingest.tables import Kind


@attrs.frozen
class SchemaChange(JsonValue):
    """One difference: `column` is dotted for nested fields (`address.city`, `tags[].name`, `prices{}`)."""

    json_keys = "kind column type? was?"

    kind: Kind
    column: str
    type: str = ""
    was: str = ""


def differences(payload: Payload, old: SchemaId, new: SchemaId) -> tuple[SchemaChange, ...]:
    """Return the changes from an older version to a newer one, in the newer one's order."""
    before, after = _columns(payload, old), _columns(payload, new)
    changes = [change for name, now in after.items() for change in _column(name, before.get(name), now)]
    dropped = [
        SchemaChange("column-dropped", name, was=str(column_version.mapped.spark))
        for name, (column_version, _) in before.items()
        if name not in after
    ]
    return (*changes, *dropped)


def growth(path: str, was: SparkType, wider: SparkType) -> Iterator[SchemaChange]:
    """Yield the changes that make a type a wider one."""
    match was, wider:
        case _ if was == wider:
            return
        case Struct(fields), Struct(others):
            old_fields = dict(fields)
            for name, kind in others:
                if name in old_fields:
                    yield from growth(f"{path}.{name}", old_fields[name], kind)
                else:
                    yield SchemaChange("field-added", f"{path}.{name}", str(kind))
        case ArrayOf(items), ArrayOf(wider_items):
            yield from growth(f"{path}[]", items, wider_items)
        case MapOf(values), MapOf(wider_values):
            yield from growth(f"{path}{{}}", values, wider_values)
        case _:
            yield SchemaChange(_kind(was, wider), path, str(wider), str(was))


# --- versions ------------------------------------------------------------------------------------

_Column = tuple[ColumnVersion, avro.Field | None]


def _columns(payload: Payload, schema_id: SchemaId) -> dict[str, _Column]:
    """Return each column of a schema: how it is written, and its field."""
    writer = payload.writer(schema_id)
    record = writer.record if writer else None
    written = [
        column_version for column_version in payload.column_versions if schema_id in column_version.writers
    ]
    return {v.column: (v, record.field(v.origin) if record else None) for v in written}


def _column(name: str, before: _Column | None, now: _Column) -> Iterator[SchemaChange]:
    column_version, field = now
    if before is None:
        yield SchemaChange("column-added", name, str(column_version.mapped.spark))
        return
    old, old_field = before
    if old.origin != column_version.origin:
        yield SchemaChange("column-renamed", name, column_version.origin, old.origin)
    if old_field is None or field is None:
        return  # a document: every version has the same
    units = {f"{name}{path}" for path in column_version.mapped.clash(old.mapped.units)}
    for change in _typed(name, old.mapped.spark, column_version.mapped.spark, old_field.type, field.type):
        is_clash = change.column in units and change.kind in ("time-precision-changed", "meaning-changed")
        yield attrs.evolve(change, kind="column-changed") if is_clash else change
    yield from _defaults(name, old_field, field)


def _typed(
    path: str, was: SparkType, now: SparkType, old: avro.Schema, new: avro.Schema
) -> Iterator[SchemaChange]:
    """Walk down two types and the schemas that they were made of, as far as both have the same shape."""
    yield from _nullability(path, old, new)
    match was, now, avro.not_null(old), avro.not_null(new):
        case Struct(fields), Struct(others), avro.Record() as left, avro.Record() as right:
            yield from _fields(path, dict(fields), dict(others), left, right)
        case ArrayOf(items), ArrayOf(others), avro.Array(items=left), avro.Array(items=right):
            yield from _typed(f"{path}[]", items, others, left, right)
        case MapOf(values), MapOf(others), avro.MapOf(values=left), avro.MapOf(values=right):
            yield from _typed(f"{path}{{}}", values, others, left, right)
        case _ if was != now:
            yield SchemaChange(_kind(was, now), path, str(now), str(was))
        case _, _, left, right:
            yield from _meaning(path, left, right)


def _fields(
    path: str, was: dict[str, SparkType], now: dict[str, SparkType], old: avro.Record, new: avro.Record
) -> Iterator[SchemaChange]:
    for name, kind in now.items():
        before, after = old.field(name), new.field(name)
        if name not in was:
            yield SchemaChange("field-added", f"{path}.{name}", str(kind))
        elif before and after:
            yield from _typed(f"{path}.{name}", was[name], kind, before.type, after.type)
            yield from _defaults(f"{path}.{name}", before, after)
    for name, kind in was.items():
        if name not in now:
            yield SchemaChange("field-dropped", f"{path}.{name}", was=str(kind))


def _kind(was: SparkType, now: SparkType) -> Kind:
    """Return the kind of a change from one type to another."""
    both, decimals = widest(was, now), isinstance(was, Decimal) and isinstance(now, Decimal)
    if both is None:
        return "column-changed"
    if both == was:
        return "decimal-narrowed" if decimals else "column-narrowed"
    return "decimal-widened" if decimals else "column-widened"


# --- changes that the type does not show -----------------------------------------------------------------


def _nullability(path: str, old: avro.Schema, new: avro.Schema) -> Iterator[SchemaChange]:
    was, now = ("nullable" if isinstance(schema, avro.Nullable) else "required" for schema in (old, new))
    if was != now:
        yield SchemaChange("nullability-changed", path, now, was)


def _defaults(path: str, old: avro.Field, new: avro.Field) -> Iterator[SchemaChange]:
    """Yield a change of the default.  A missing default and null are the same."""
    was, now = ("" if field.default == "null" else field.default or "" for field in (old, new))
    if was != now:
        yield SchemaChange("default-changed", path, now or "none", was or "none")


def _meaning(path: str, old: avro.Schema, new: avro.Schema) -> Iterator[SchemaChange]:
    """Yield the difference between two schemas of one type: symbols, the precision of a time, the meaning."""
    symbols = tuple(map(_symbols, (old, new)))
    if any(symbols):
        if symbols[0] != symbols[1]:
            yield SchemaChange("enum-changed", path, symbols[1] or "text", symbols[0] or "text")
        return
    was, now = map(_semantic, (old, new))
    if was == now:
        return
    digits = tuple(map(_digits, (was, now)))
    timed = all(digits) and digits[0] != digits[1]
    kind: Kind = "time-precision-changed" if timed else "meaning-changed"
    yield SchemaChange(kind, path, now or "none", was or "none")


def _symbols(schema: avro.Schema) -> str:
    match schema:
        case avro.Enum(symbols=symbols):
            return ",".join(symbols)
        case avro.Scalar(notes=notes) if notes.connect_name.endswith((".Enum", ".EnumSet")):
            return notes.parameter("allowed") or "any"
        case _:
            return ""


def _semantic(schema: avro.Schema) -> str:
    match schema:
        case avro.Union() | avro.Nullable():
            return ""
        case _:
            return schema.notes.semantic.rpartition(".")[2]


def _digits(semantic: str) -> int:
    """Return the digits behind a second of a time without a zone, or 0 for other types."""
    if "Zoned" in semantic:
        return 0
    return next((digits for name, digits in _PRECISIONS if name in semantic), 0)


_PRECISIONS = (("Nano", 9), ("nanos", 9), ("Micro", 6), ("micros", 6), ("Time", 3), ("millis", 3))
