"""PostgreSQL's text: `col::text` under UTC, ISO dates, iso_8601 intervals, hex bytea."""

import json
import re
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from typing import Any

from tests.e2e.referee.kind import DOUBLE, EXACT, FLOAT, INT, JSON, PLAIN, TEXT, Allowed, Kind
from tests.e2e.referee.moments import day_of, offset_of, time_of_day, to_micros, wall_clock

DECIMAL_DIGITS = 38
DAY_MICROS = 86_400_000_000
MONTH_MICROS = 2_629_800_000_000  # 30.4375 days, as Debezium counts them
FIRST_DIGIT = re.compile(r"^(?=\d)")


def kind_of(declared: str) -> Kind:
    """Return the reader of a declared type."""
    if declared.endswith("[]"):
        return _array(kind_of(declared.removesuffix("[]")))
    name, _, rest = declared.partition("(")
    inside, _, after = rest.partition(")")
    match name + after:
        case "numeric" if not inside or int(inside.partition(",")[0]) > DECIMAL_DIGITS:
            return Kind(_finite(Decimal), PLAIN.found)
        case "numeric":
            return Kind(_finite(Decimal), EXACT.found)
        case "character":
            return Kind(lambda text: text.ljust(int(inside)))  # ::text trims blanks
        case "time without time zone":
            return Kind(lambda text: time_of_day(text, 3 if inside and int(inside) <= 3 else 6))
        case "bit" if inside in {"", "1"}:
            return Kind(lambda text: text == "1")
        case kind:
            return _KINDS[kind]


def key_kind_of(declared: str) -> Kind:
    """Return the reader of a type in a key: an instant is there as the connector writes it."""
    return Kind(_written) if declared == "timestamp with time zone" else kind_of(declared)


def field_name(column: str) -> str:
    """Return Debezium's name of a column under `field.name.adjustment.mode = avro`."""
    return FIRST_DIGIT.sub("_", re.sub(r"[^A-Za-z0-9_]", "_", column))


def _finite(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Read a value that a column can hold; NaN, infinity and years before 1 are null in a table."""
    return lambda text: (
        None if text in {"NaN", "infinity", "-infinity"} or text.endswith(" BC") else read(text)
    )


def _date(text: str) -> date | Allowed | None:
    if text.endswith(" BC"):
        without_era = day_of(text.removesuffix(" BC"))
        return Allowed("a snapshot loses the era", lambda value: value in {None, without_era})
    read = _finite(day_of)
    value: date | None = read(text)
    return value


def _instant(text: str) -> int:
    """Read a timestamptz, which UTC sessions write with +00."""
    assert text.endswith("+00")
    return to_micros(wall_clock(text.removesuffix("+00")))


def _written(text: str) -> str:
    """Write a timestamptz as Debezium does, in ISO 8601 with six digits."""
    day, _, clock = text.removesuffix("+00").partition(" ")
    seconds, _, fraction = clock.partition(".")
    return f"{day}T{seconds}.{fraction:0<6}Z" if clock else text


def _zoned_time(text: str) -> int:
    """Read `hh:mm:ss[.ffffff]` with Z or an offset, as microseconds of the day in UTC."""
    clock, sign, offset = re.fullmatch(r"([\d:.]+)([-+Z])(.*)", text).groups()  # type: ignore[union-attr] # asserts
    hours, minutes, seconds = clock.split(":")
    micros = (int(hours) * 60 + int(minutes)) * 60_000_000 + int(Decimal(seconds) * 1_000_000)
    shift = offset_of(sign + offset) if offset else offset_of("+00")
    return (micros - round(shift.total_seconds()) * 1_000_000) % DAY_MICROS


def _duration(text: str) -> int:
    """Read an ISO 8601 interval as microseconds, months and years averaged."""
    day, _, clock = text.removeprefix("P").partition("T")
    parts = {unit: Decimal(number) for number, unit in re.findall(r"([-+.\d]+)([YMD])", day)}
    times = {unit: Decimal(number) for number, unit in re.findall(r"([-+.\d]+)([HMS])", clock)}
    zero = Decimal(0)
    months = parts.get("Y", zero) * 12 + parts.get("M", zero)
    minutes = times.get("H", zero) * 60 + times.get("M", zero)
    seconds = minutes * 60 + times.get("S", zero)
    return int(months * MONTH_MICROS + parts.get("D", zero) * DAY_MICROS + seconds * 1_000_000)


def _array(item: Kind) -> Kind:
    """Read an array of one dimension."""
    return Kind(lambda text: _items(text, item.expected), lambda values: _each(values, item.found))


def _each(values: list[Any], read: Callable[[Any], Any]) -> list[Any]:
    return [None if value is None else read(value) for value in values]


def _items(text: str, read: Callable[[str], Any]) -> list[Any] | Allowed:
    if text.startswith("{{"):  # Debezium 3.6 supports one dimension
        return Allowed(
            "Debezium sends the inner arrays' Java names",
            lambda matches: all(name.startswith("[Ljava.lang.String;@") for name in matches),
        )
    matches = re.findall(r'"((?:[^"\\]|\\.)*)"|([^,{}]+)', text)
    return [
        None if bare == "NULL" else read(bare) if bare else read(re.sub(r"\\(.)", r"\1", quoted))
        for quoted, bare in matches
    ]


def _hstore(text: str) -> str:
    pairs = re.findall(r'"((?:[^"\\]|\\.)*)"=>(?:NULL|("(?:[^"\\]|\\.)*"))', text)
    return json.dumps({json.loads(f'"{k}"'): json.loads(v) if v else None for k, v in pairs}, sort_keys=True)


def _point(text: str) -> tuple[float, float]:
    x, _, y = text.strip("()").partition(",")
    return float(x), float(y)


def _bits(text: str) -> int:
    return int(text, 2) if text else 0


_KINDS = {
    **dict.fromkeys(("smallint", "integer", "bigint", "oid"), INT),
    "real": FLOAT,
    "double precision": DOUBLE,
    "money": Kind(lambda text: Decimal(re.sub("[$,]", "", text)), EXACT.found),
    "boolean": Kind(lambda text: text in {"t", "true"}),
    **dict.fromkeys(("text", "character varying", "citext", "xml", "uuid", "ltree", "inv.mood"), TEXT),
    **dict.fromkeys(("int4range", "tstzrange", "numrange", "cidr", "macaddr"), TEXT),
    "inet": Kind(lambda text: text.removesuffix("/128" if ":" in text else "/32")),  # a host has no mask
    "bytea": Kind(lambda text: bytes.fromhex(text[2:])),
    "date": Kind(_date),
    "time with time zone": Kind(_zoned_time, _zoned_time),
    "timestamp without time zone": Kind(_finite(wall_clock)),
    "timestamp with time zone": Kind(_finite(_instant)),
    "interval": Kind(_duration),
    **dict.fromkeys(("json", "jsonb"), JSON),
    **dict.fromkeys(("bit", "bit varying"), Kind(_bits, lambda found: int.from_bytes(found, "little"))),
    "point": Kind(_point, lambda found: (found["x"], found["y"])),
    "hstore": Kind(_hstore, JSON.found),
}
