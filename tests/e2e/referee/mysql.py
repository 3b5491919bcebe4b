"""MySQL's and MariaDB's text: a cast to `char` under UTC; bytes in hexadecimal, bits in binary digits."""

import re
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

from tests.e2e.referee.kind import DOUBLE, EXACT, FLOAT, INT, JSON, PLAIN, TEXT, Allowed, Kind
from tests.e2e.referee.moments import day_of, to_micros, wall_clock

DECIMAL_DIGITS = 38


def selected(column: str, declared: str) -> str:
    """Return the expression whose text `kind_of` reads."""
    name = declared.partition("(")[0]
    match name.partition(" ")[0]:
        case "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob":
            return f"hex({column})"
        case "bit":
            return f"bin({column} + 0)"
        case "float":
            return f"cast({column} as double)"
        case "point":
            return f"concat(st_x({column}), ' ', st_y({column}))"
        case _:
            return column


def kind_of(declared: str) -> Kind:
    """Return the reader of a declared type."""
    name, _, rest = declared.partition("(")
    digits = rest.partition(")")[0]
    match name.partition(" ")[0]:
        case "tinyint" if digits == "1":
            return Kind(int, int)  # a number in a snapshot, a boolean where the DDL says BOOLEAN
        case "decimal" if int(digits.partition(",")[0]) > DECIMAL_DIGITS:
            return PLAIN
        case "bit" if digits == "1":
            return Kind(lambda text: text == "1")
        case kind:
            return _KINDS[kind]


def _clock(text: str) -> str:
    """Read a duration `[-]hhh:mm:ss[.ffffff]`, written with six digits behind the point."""
    clock, _, fraction = text.partition(".")
    return f"{clock}.{fraction:0<6}"


def _not_zero(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Read a moment; a zero date is null."""
    return lambda text: None if text.startswith("0000-00-00") else read(text)


def _float(text: str) -> Allowed:
    """Read a float; a snapshot has six of its digits."""
    exact = (FLOAT.expected(text), FLOAT.expected(f"{float(text):.6g}"))
    return Allowed("a snapshot reads six digits", lambda value: value in exact)


_READ_DAY: Callable[[str], date] = day_of
_READ_CLOCK: Callable[[str], datetime] = wall_clock
_BYTES = Kind(bytes.fromhex)
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "mediumint", "int", "year"), INT),
    "bigint": Kind(int, int),  # unsigned: a decimal
    "decimal": EXACT,
    "float": Kind(_float, FLOAT.found),
    "double": DOUBLE,
    "bit": Kind(lambda text: int(text, 2), lambda found: int.from_bytes(found, "little")),
    **dict.fromkeys(("char", "varchar", "tinytext", "text", "mediumtext", "longtext", "enum", "set"), TEXT),
    **dict.fromkeys(("binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"), _BYTES),
    "date": Kind(_not_zero(_READ_DAY)),
    "time": Kind(_clock),
    "datetime": Kind(_not_zero(_READ_CLOCK)),
    "timestamp": Kind(_not_zero(lambda text: to_micros(wall_clock(text)))),
    "json": JSON,
    **dict.fromkeys(("uuid", "inet6", "inet4"), TEXT),
    "point": Kind(
        lambda text: tuple(float(part) for part in re.split(" ", text)),
        lambda found: (found["x"], found["y"]),
    ),
}
