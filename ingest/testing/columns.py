"""Types of columns as Confluent's converter writes what Debezium says of them: plain Avro JSON.

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


def semantic(physical: str, name: str, **more: Json) -> Json:
    """Make a type that carries a `connect.name`."""
    return {"type": physical, "connect.version": 1, "connect.name": name, **more}


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
    """Make a decimal whose scale comes with each value, as Oracle's NUMBER; once in a row's schema."""
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
    """Make an enumeration, which is a string that names what it allows."""
    return semantic(
        "string", "io.debezium.data.Enum", **{"connect.parameters": {"allowed": ",".join(allowed)}}
    )


def fields_of(columns: Columns, renamed: Mapping[str, str] | None = None) -> list[Json]:
    """Make the fields of a record, with the defaults that the converter writes.

    `renamed` gives fields the name that they had before, as an alias.
    """
    old = {name: {"aliases": [was]} for name, was in (renamed or {}).items()}
    return [
        {"name": name, "type": kind, **_default(kind), **old.get(name, {})} for name, kind in columns.items()
    ]


def record(full_name: str, columns: Columns, **more: Json) -> Json:
    """Make a record that is known to Connect by its own name."""
    namespace, _, name = full_name.rpartition(".")
    place = {"name": name, "namespace": namespace} if namespace else {"name": name}
    return {"type": "record", **place, "fields": fields_of(columns), **more, "connect.name": full_name}


def _default(kind: Json) -> dict[str, Json]:
    first = kind[0] if isinstance(kind, list) else kind
    if first == "null":
        return {"default": None}
    told = isinstance(first, dict) and "connect.default" in first
    return {"default": first["connect.default"]} if told else {}
