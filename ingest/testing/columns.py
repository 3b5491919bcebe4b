"""Column types as Confluent's converter registers them for Debezium: plain Avro JSON.

A name and a type make a column: `{"id": "int", "name": nullable("string"), "price": decimal(9, 2)}`.
"""

from collections.abc import Mapping
from typing import Any, Final

Json = Any
Columns = Mapping[str, Json]
"""Columns of a table: name and Avro type."""

DECIMAL: Final = "org.apache.kafka.connect.data.Decimal"


def nullable(kind: Json) -> Json:
    """Make a type optional, as columns that may be null are."""
    return ["null", kind]


def semantic(physical: str, name: str, **properties: Json) -> Json:
    """Make a type that carries a `connect.name`."""
    return {"type": physical, "connect.version": 1, "connect.name": name, **properties}


def decimal(precision: int | None, scale: int, *, written_precision: int | None = None) -> Json:
    """Make a decimal as the converter does: without a precision it writes 64."""
    parameters = {"scale": str(scale)}
    if precision is not None:
        parameters["connect.decimal.precision"] = str(precision)
    return semantic(
        "bytes",
        DECIMAL,
        **{"connect.parameters": parameters, "logicalType": "decimal"},
        scale=scale,
        precision=written_precision or precision or 64,
    )


def variable_decimal(name: str = "io.debezium.data.VariableScaleDecimal") -> Json:
    """Make a decimal that carries its scale in each value, like Oracle's NUMBER.  Use it once per schema."""
    fields = fields_of({"scale": "int", "value": "bytes"})
    return {
        "type": "record",
        "name": name.rpartition(".")[2],
        "namespace": name.rpartition(".")[0],
        "fields": fields,
        "connect.version": 1,
        "connect.name": name,
    }


def date() -> Json:
    """Make a date: days since 1970."""
    return semantic("int", "io.debezium.time.Date")


def timestamp(unit: str = "us") -> Json:
    """Make a wall clock, of `ms`, `us` or `ns` since 1970."""
    names = {"ms": "Timestamp", "us": "MicroTimestamp", "ns": "NanoTimestamp"}
    return semantic("long", f"io.debezium.time.{names[unit]}")


def zoned_timestamp() -> Json:
    """Make an instant: ISO text with an offset."""
    return semantic("string", "io.debezium.time.ZonedTimestamp")


def time(unit: str = "us") -> Json:
    """Make a time of day, of `ms`, `us` or `ns` since midnight."""
    names = {"ms": "Time", "us": "MicroTime", "ns": "NanoTime"}
    return semantic("int" if unit == "ms" else "long", f"io.debezium.time.{names[unit]}")


def enum(*allowed: str) -> Json:
    """Make an enumeration: a string with the list of its allowed values."""
    return semantic(
        "string", "io.debezium.data.Enum", **{"connect.parameters": {"allowed": ",".join(allowed)}}
    )


def fields_of(columns: Columns, renamed: Mapping[str, str] | None = None) -> list[Json]:
    """Make the fields of a record, with the defaults that the converter writes.

    `renamed` maps fields to their previous names, written as aliases.
    """
    old = {name: {"aliases": [was]} for name, was in (renamed or {}).items()}
    return [
        {"name": name, "type": kind, **_default(kind), **old.get(name, {})} for name, kind in columns.items()
    ]


def record(full_name: str, columns: Columns, **properties: Json) -> Json:
    """Make a record that carries its name as `connect.name`."""
    namespace, _, name = full_name.rpartition(".")
    full = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"type": "record", **full, "fields": fields_of(columns), **properties, "connect.name": full_name}


def _default(kind: Json) -> dict[str, Json]:
    first = kind[0] if isinstance(kind, list) else kind
    if first == "null":
        return {"default": None}
    has_default = isinstance(first, dict) and "connect.default" in first
    return {"default": first["connect.default"]} if has_default else {}
