"""Converts both spellings of a column to the same Python value."""

import json
import re
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import attrs


def as_is(value: Any) -> Any:
    """Return the value unchanged."""
    return value


@attrs.frozen
class Kind:
    """`expected` reads the source's text, `found` the table's value; neither receives a null."""

    expected: Callable[[str], Any]
    found: Callable[[Any], Any] = as_is


@attrs.frozen
class Allowed:
    """The values a cell may hold if it cannot hold the source's value, and the reason."""

    why: str
    accepts: Callable[[Any], bool]


def plain_decimal(text: str) -> Decimal:
    """Read a number stored as text: plain notation, no exponent."""
    assert isinstance(text, str), f"{text!r} is no text"
    assert re.fullmatch(r"-?\d+(\.\d+)?", text), f"{text!r} is not in plain notation"
    return Decimal(text)


def exact_number(value: int | Decimal) -> Decimal:
    """Read a number stored as an integer or a decimal, never as a double."""
    assert isinstance(value, int | Decimal), f"{value!r} is no exact number"
    return Decimal(value)


def floating(text: str) -> float | str:
    """Read a double; NaN as text, since it does not equal itself."""
    return same_floating(float(text))


def floating32(text: str) -> float | str:
    """Read a float, rounded to 32 bits."""
    number = float(text)
    return same_floating(
        number if abs(number) == float("inf") else struct.unpack("f", struct.pack("f", number))[0]
    )


def same_floating(number: float) -> float | str:
    """Replace NaN by a value that equals itself."""
    return "NaN" if number != number else float(number)  # noqa: PLR0124 - what NaN is


def same_json(text: str) -> str:
    """Normalize JSON text; a JSON null differs from SQL's."""
    return json.dumps(json.loads(text), sort_keys=True, ensure_ascii=False)


EXACT = Kind(Decimal, exact_number)
PLAIN = Kind(Decimal, plain_decimal)
FLOAT = Kind(floating32, same_floating)
DOUBLE = Kind(floating, same_floating)
JSON = Kind(same_json, same_json)
TEXT = Kind(str)
INT = Kind(int)
