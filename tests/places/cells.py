"""Values of any reader as text that can be compared; no Spark: `reading.py` runs in another environment."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Context, Decimal
from typing import Any, Final

DIGITS: Final = Context(prec=38)
"""Those of the longest decimals; Python's own context rounds to 28."""


def text(value: Any) -> Any:
    """Return a value as JSON holds it; an instant is the wall clock in UTC."""
    match value:
        case None | bool() | int() | str():
            return value
        case bytes() | bytearray():
            return bytes(value).hex()
        case Decimal():
            return format(value.normalize(DIGITS), "f")
        case float():
            return repr(value)
        case datetime():
            utc = value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
            return utc.isoformat(timespec="microseconds")
        case date():
            return value.isoformat()
        case Mapping():
            return sorted([str(key), text(item)] for key, item in value.items())
        case [*items] if items and all(isinstance(item, tuple) for item in items):  # a map of Arrow
            return sorted([str(key), text(item)] for key, item in items)
        case [*items]:
            return [text(item) for item in items]
        case _:
            return f"{type(value).__name__} {value}"


def rows_of(records: Iterable[Mapping[str, Any]], columns: Sequence[str]) -> list[list[Any]]:
    """Return the values of each record, in one order for all readers."""
    return in_order([text(record[column]) for column in columns] for record in records)


def in_order(rows: Iterable[list[Any]]) -> list[list[Any]]:
    """Sort rows by their values as text."""
    return sorted(rows, key=json.dumps)
