"""Encode values for the wire: physical values by semantic type, bytes by fastavro."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from functools import lru_cache
from io import BytesIO
from json import dumps, loads
from typing import Any, Final

from ingest.errors import UsageError
from ingest.testing.columns import DECIMAL, Columns, Json

MAGIC: Final = b"\0"
DAY_NS: Final = 86_400_000_000_000
MICROSECOND: Final = timedelta(microseconds=1)


def framed(schema_id: int, node: Json, value: Any) -> bytes:
    """Encode a value after Confluent's header.  `value` holds physical values."""
    from fastavro import schemaless_writer  # noqa: PLC0415  an extra

    body = BytesIO()
    schemaless_writer(body, _parsed(dumps(node)), value)
    return MAGIC + schema_id.to_bytes(4, "big") + body.getvalue()


def physical_row(columns: Columns, row: Mapping[str, Any]) -> dict[str, Any]:
    """Convert a row's values to the physical types of its columns.  An absent column is null.

    Raises `UsageError` for an unknown column, which fastavro would drop silently.
    """
    if unknown := sorted(row.keys() - columns.keys()):
        raise UsageError(
            f"unknown columns {', '.join(unknown)}; this version has {', '.join(columns)}",
            "Name the version of the row with schema_id=",
        )
    return {name: physical(kind, row.get(name), name) for name, kind in columns.items()}


def physical(kind: Json, value: Any, where: str = "value") -> Any:
    """Convert a value to its Avro type's physical value: Decimal, dates and times by `connect.name`.

    Physical values (int, text, bytes) stay unchanged.  Raises `UsageError` if digits would be lost.
    """
    match kind:
        case list():
            branches = [branch for branch in kind if branch != "null"]
            if len(branches) != 1 or value is None:
                return value
            return physical(branches[0], value, where)
        case {"connect.name": str(name)} if name in _PHYSICAL:
            return _PHYSICAL[name](kind, value, where)
        case {"type": "record", "fields": fields} if isinstance(value, Mapping):
            return physical_row({field["name"]: field["type"] for field in fields}, value)
        case {"type": "array", "items": items} if isinstance(value, list | tuple):
            return [physical(items, item, where) for item in value]
        case {"type": "map", "values": values} if isinstance(value, Mapping):
            return {name: physical(values, item, where) for name, item in value.items()}
        case _:
            return value


def unscaled(number: int) -> bytes:
    """Encode an integer as Java's BigInteger does: the shortest two's complement."""
    return number.to_bytes((number if number >= 0 else ~number).bit_length() // 8 + 1, "big", signed=True)


def blank(kind: Json) -> Any:
    """Return the value that PostgreSQL's connector writes for a column it did not receive: null, or zero."""
    match kind:
        case list():
            return None if "null" in kind else blank(kind[0])
        case {"type": "record", "fields": fields}:
            return {field["name"]: blank(field["type"]) for field in fields}
        case {"type": inner}:
            return blank(inner)
        case _:
            blanks = {"string": "", "bytes": b"", "boolean": False, "array": [], "map": {}}
            return blanks.get(kind, 0)


def without_logical_types(node: Json) -> Json:
    """Remove the annotations that fastavro would apply: the values are already physical."""
    match node:
        case dict():
            return {k: without_logical_types(v) for k, v in node.items() if k != "logicalType"}
        case list():
            return [without_logical_types(item) for item in node]
        case _:
            return node


@lru_cache(maxsize=256)
def _parsed(text: str) -> Any:
    from fastavro import parse_schema  # noqa: PLC0415  an extra

    return parse_schema(without_logical_types(loads(text)))


# --- meanings ------------------------------------------------------------------------------------


def _decimal(kind: Json, value: Any, where: str) -> Any:
    if not isinstance(value, Decimal):
        return value
    return unscaled(_whole(value, int(kind["connect.parameters"]["scale"]), where))


def _variable(_: Json, value: Any, where: str) -> Any:
    if not isinstance(value, Decimal):
        return value
    scale = -int(value.as_tuple().exponent)
    return {"scale": scale, "value": unscaled(_whole(value, scale, where))}


def _whole(value: Decimal, scale: int, where: str) -> int:
    sign, digits, exponent = value.as_tuple()
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    shift = int(exponent) + scale
    power: int = 10 ** abs(shift)
    if shift < 0 and number % power:
        raise UsageError(f"{where}: {value} has more than {scale} digits after the decimal point")
    return number * power if shift >= 0 else number // power


def _counted(time_resolution_ns: int) -> Callable[[Json, Any, str], Any]:
    """Return a converter to counts of a unit since 1970 or midnight."""

    def count(_: Json, value: Any, where: str) -> Any:
        match value:
            case datetime():
                nanos = (value - datetime(1970, 1, 1, tzinfo=value.tzinfo)) // MICROSECOND * 1000
            case date():
                nanos = (value - date(1970, 1, 1)).days * DAY_NS
            case time():
                nanos = _since_midnight(value) // MICROSECOND * 1000
            case _:
                return value
        if nanos % time_resolution_ns:
            raise UsageError(f"{where}: {value} is finer than the column's unit")
        return nanos // time_resolution_ns

    return count


def _since_midnight(value: time) -> timedelta:
    return timedelta(
        hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond
    )


def _zoned(_: Json, value: Any, where: str) -> Any:
    if not isinstance(value, datetime):
        return value
    if value.tzinfo is None:
        raise UsageError(f"{where}: {value} has no time zone, but the column holds instants")
    return value.isoformat().replace("+00:00", "Z")


_PHYSICAL: Final[Mapping[str, Callable[[Json, Any, str], Any]]] = {
    DECIMAL: _decimal,
    "io.debezium.data.VariableScaleDecimal": _variable,
    "io.debezium.time.ZonedTimestamp": _zoned,
    **dict.fromkeys(("io.debezium.time.Date", "org.apache.kafka.connect.data.Date"), _counted(DAY_NS)),
    **dict.fromkeys(
        ("io.debezium.time.Timestamp", "io.debezium.time.Time", "org.apache.kafka.connect.data.Timestamp",
         "org.apache.kafka.connect.data.Time"), _counted(1_000_000)),
    **dict.fromkeys(("io.debezium.time.MicroTimestamp", "io.debezium.time.MicroTime"), _counted(1000)),
    **dict.fromkeys(("io.debezium.time.NanoTimestamp", "io.debezium.time.NanoTime"), _counted(1)),
}  # fmt: skip
