"""Schemas in both forms, Avro and Connect, and the table's value of each semantic type."""

import base64
import json
import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import cache
from typing import Any

import attrs

from tests.e2e.referee.moments import EPOCH, to_micros

WIDE = Context(prec=1000)
DECIMAL_DIGITS = 38
FIRST_DAY, LAST_DAY = -719162, 2932896
"""0001-01-01 and 9999-12-31: the range of a table's dates and timestamps."""


@attrs.frozen
class Shape:
    """A node of a schema: semantic name and parameters, the type, and the nodes inside."""

    type: str
    name: str = ""
    parameters: Mapping[str, str] = attrs.field(factory=dict)
    items: "Shape | None" = None
    fields: "Mapping[str, Shape]" = attrs.field(factory=dict)
    is_json: bool = False


def of_avro(schema: Any, named: dict[str, Shape] | None = None, space: str = "") -> Shape:
    """Return the shape of an Avro schema of Confluent's converter."""
    named = {} if named is None else named
    match schema:
        case str():
            return named.get(schema) or named.get(f"{space}.{schema}") or Shape(schema)
        case list():
            return of_avro(next(part for part in schema if part != "null"), named, space)
        case {"type": "record"}:
            space = schema.get("namespace", space)
            fields = {f["name"]: of_avro(f["type"], named, space) for f in schema["fields"]}
            shape = Shape("struct", schema.get("connect.name", ""), fields=fields)
            named[f"{space}.{schema['name']}"] = shape
            return shape
        case {"type": "array"}:
            return Shape("array", items=of_avro(schema["items"], named, space))
        case _:
            return Shape(schema["type"], schema.get("connect.name", ""), schema.get("connect.parameters", {}))


@cache
def of_connect(schema: str) -> Shape:
    """Return the shape of a Connect schema, which JsonConverter adds to each payload."""
    return _of_connect(json.loads(schema))


def _of_connect(schema: Mapping[str, Any]) -> Shape:
    return Shape(
        schema["type"],
        schema.get("name", ""),
        schema.get("parameters", {}),
        _of_connect(schema["items"]) if "items" in schema else None,
        {field["field"]: _of_connect(field) for field in schema.get("fields", [])},
        is_json=True,
    )


def convert(shape: Shape, value: Any) -> Any:
    """Return the value that Spark reads from the table, instants as microseconds."""
    if value is None:
        return None
    if shape.type == "bytes" and shape.is_json and isinstance(value, int | float):
        return _numeric(value, shape)
    if shape.type == "bytes" and shape.is_json:
        value = base64.b64decode(value)
    if shape.name in _BY_NAME:
        return _BY_NAME[shape.name](value, shape)
    if shape.type == "array" and shape.items:
        return [convert(shape.items, item) for item in value]
    if shape.type == "struct":
        return {name: convert(shape.fields[name], part) for name, part in value.items()}
    return _FLOATS[shape.type](value) if shape.type in _FLOATS else value


def _numeric(value: float, shape: Shape) -> Decimal:
    """Return a decimal that a message has as a number (`decimal.format=NUMERIC`), in its scale."""
    unit = Decimal(1).scaleb(-int(shape.parameters.get("scale", 0)))
    return WIDE.add(Decimal(repr(value)).quantize(unit, context=WIDE), 0)


def _float32(value: float | str) -> float:
    number: float = struct.unpack("f", struct.pack("f", float(value)))[0]
    return number


_FLOATS: Mapping[str, Callable[[Any], float]] = {
    **dict.fromkeys(("float", "float32"), _float32),
    **dict.fromkeys(("double", "float64"), float),
}


def _decimal(value: bytes, shape: Shape) -> Decimal | str:
    number = _scaled(value, int(shape.parameters["scale"]))
    wide = int(shape.parameters.get("connect.decimal.precision", 0)) > DECIMAL_DIGITS
    return f"{number:f}" if wide else number


def _variable(value: Mapping[str, Any], shape: Shape) -> str:
    unscaled = convert(shape.fields["value"], value["value"])
    return f"{_scaled(unscaled, value['scale']):f}"


def _scaled(unscaled: bytes, scale: int) -> Decimal:
    return Decimal(int.from_bytes(unscaled, "big", signed=True)).scaleb(-scale, WIDE)


def _date(days: int, _: Shape) -> date | None:
    return date(1970, 1, 1) + timedelta(days) if FIRST_DAY <= days <= LAST_DAY else None


def _clock(per_second: int) -> Callable[[int, Shape], datetime | None]:
    def read(count: int, _: Shape) -> datetime | None:
        micros = count * 1_000_000 // per_second
        if not FIRST_DAY <= micros // 86_400_000_000 <= LAST_DAY:
            return None
        return EPOCH.replace(tzinfo=None) + timedelta(microseconds=micros)

    return read


def _time(per_second: int) -> Callable[[int, Shape], str]:
    def read(count: int, _: Shape) -> str:
        sign = "-" if count < 0 else ""  # MySQL's durations
        seconds, fraction = divmod(abs(count), per_second)
        minutes, second = divmod(seconds, 60)
        digits = len(str(per_second)) - 1
        return f"{sign}{minutes // 60:02}:{minutes % 60:02}:{second:02}.{fraction:0{digits}}"

    return read


def _instant(text: str, _: Shape) -> int | None:
    if text in {"infinity", "-infinity"} or text.startswith("-"):
        return None
    return to_micros(datetime.fromisoformat(text).astimezone(UTC))


_BY_NAME: Mapping[str, Callable[[Any, Shape], Any]] = {
    "org.apache.kafka.connect.data.Decimal": _decimal,
    "org.apache.kafka.connect.data.Timestamp": _clock(1000),
    "io.debezium.data.VariableScaleDecimal": _variable,
    "io.debezium.time.Date": _date,
    "io.debezium.time.Time": _time(1000),
    "io.debezium.time.MicroTime": _time(1_000_000),
    "io.debezium.time.NanoTime": _time(1_000_000_000),
    "io.debezium.time.Timestamp": _clock(1000),
    "io.debezium.time.MicroTimestamp": _clock(1_000_000),
    "io.debezium.time.NanoTimestamp": _clock(1_000_000_000),
    "io.debezium.time.ZonedTimestamp": _instant,
}
