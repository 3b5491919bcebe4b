"""How one column's two spellings become the same Python value."""

import json
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs


def as_is(value: Any) -> Any:
    """Keep a value."""
    return value


@attrs.frozen
class Kind:
    """`expected` reads the source's text, `found` the table's value; neither is called with a null."""

    expected: Callable[[str], Any]
    found: Callable[[Any], Any] = as_is


@attrs.frozen
class Allowed:
    """What a cell may hold where it cannot hold the source's value, and why."""

    why: str
    accepts: Callable[[Any], bool]


def plain_decimal(text: str) -> Decimal:
    """Read a number that a table holds as text: plain notation, no exponent."""
    assert isinstance(text, str), f"{text!r} is no text"
    assert re.fullmatch(r"-?\d+(\.\d+)?", text), f"{text!r} is not in plain notation"
    return Decimal(text)


def exact_number(value: int | Decimal) -> Decimal:
    """Read a number that a table holds as a whole number or a decimal, never as a double."""
    assert isinstance(value, int | Decimal), f"{value!r} is no exact number"
    return Decimal(value)


def floating(text: str) -> float | str:
    """Read a double; NaN as text, since it does not equal itself."""
    return same_floating(float(text))


def floating32(text: str) -> float | str:
    """Read a float as the nearest of 32 bits."""
    number = float(text)
    return same_floating(
        number if abs(number) == float("inf") else struct.unpack("f", struct.pack("f", number))[0]
    )


def same_floating(number: float) -> float | str:
    """Make NaN equal to itself."""
    return "NaN" if number != number else float(number)  # noqa: PLR0124 - what NaN is


def same_json(text: str) -> str:
    """Write JSON in one spelling; a JSON null is not SQL's."""
    return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)


EXACT = Kind(Decimal, exact_number)
PLAIN = Kind(Decimal, plain_decimal)
FLOAT = Kind(floating32, same_floating)
DOUBLE = Kind(floating, same_floating)
JSON = Kind(same_json, same_json)
TEXT = Kind(str)
INT = Kind(int)
