"""The database's own final rows, as a judge that shares no code with the product.

A corpus holds them as text in SQL Server's spelling; both sides are brought to the same Python values.
"""

import gzip
import json
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

Rows = dict[tuple[Any, ...], dict[str, Any]]


def read_expected(path: Path) -> tuple[Rows, list[str]]:
    """Read a referee file: rows by primary key, and the columns."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        expected = json.load(file)
    names = [column["name"] for column in expected["columns"]]
    readers = {column["name"]: _reader(column["type"]) for column in expected["columns"]}
    rows: Rows = {}
    for values in expected["rows"]:
        texts = dict(zip(names, values, strict=True))
        row = {n: None if text is None else readers[n](text) for n, text in texts.items()}
        rows[tuple(row[name] for name in expected["primary_key"])] = row
    return rows, list(expected["primary_key"])


def read_table(frame: DataFrame, keys: list[str]) -> Rows:
    """Read a Hudi table into the same form; more than one row a key is an error of its own."""
    rows: Rows = {}
    for row in frame.selectExpr(*_columns(frame)).collect():
        values = {name: _plain(value) for name, value in row.asDict().items()}
        key = tuple(values[name] for name in keys)
        assert key not in rows, f"two rows for key {key}"
        rows[key] = values
    return rows


def differences(expected: Rows, found: Rows) -> list[str]:
    """Name every cell that differs, every row that is missing and every one too many."""
    wrong = [f"missing row {key}" for key in expected.keys() - found.keys()]
    wrong += [f"row too many {key}" for key in found.keys() - expected.keys()]
    for key in expected.keys() & found.keys():
        wrong += [
            f"{key}.{name}: expected {value!r}, found {found[key].get(name)!r}"
            for name, value in expected[key].items()
            if name not in found[key] or found[key][name] != value
        ]
    return sorted(wrong)


def _columns(frame: DataFrame) -> list[str]:
    """Select the row's columns; an instant as microseconds, so that no zone of this process touches it."""
    return [
        f"unix_micros(`{name}`) as `{name}`" if kind == "timestamp" else f"`{name}`"
        for name, kind in frame.dtypes
        if not name.startswith(("_cdc_", "_hoodie_"))
    ]


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def _reader(kind: str) -> Callable[[str], Any]:
    """Return how a SQL Server type's text is read."""
    name = kind.partition("(")[0]
    return _READERS.get(name, str)


def _time(text: str) -> str:
    """Read a time of day, with the digits that Debezium's type for it carries: ms, µs or ns."""
    clock, _, digits = text.partition(".")
    width = 3 if len(digits) <= 3 else 6 if len(digits) <= 6 else 9
    return f"{clock}.{digits:0<{width}}"


def _wall_clock(text: str) -> datetime:
    day, _, clock = text.partition(" ")
    clock, _, digits = clock.partition(".")
    return datetime.fromisoformat(f"{day}T{clock}").replace(microsecond=int(f"{digits:0<6}"[:6]))


def _instant(text: str) -> int:
    """Read a datetimeoffset, `local ±hh:mm`, as microseconds since 1970 in UTC."""
    local, _, offset = text.rpartition(" ")
    sign = -1 if offset[0] == "-" else 1
    shift = sign * timedelta(hours=int(offset[1:3]), minutes=int(offset[4:6]))
    moment = _wall_clock(local).replace(tzinfo=UTC) - shift
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def _float32(text: str) -> float:
    return float(struct.unpack("f", struct.pack("f", float(text)))[0])


_READERS: dict[str, Callable[[str], Any]] = {
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "bit": lambda text: text == "1",
    "decimal": Decimal,
    "numeric": Decimal,
    "money": Decimal,
    "smallmoney": Decimal,
    "float": float,
    "real": _float32,
    "binary": lambda text: bytes.fromhex(text[2:]),
    "varbinary": lambda text: bytes.fromhex(text[2:]),
    "rowversion": lambda text: bytes.fromhex(text[2:]),
    "date": date.fromisoformat,
    "time": _time,
    "datetime": _wall_clock,
    "smalldatetime": _wall_clock,
    "datetime2": _wall_clock,
    "datetimeoffset": _instant,
}
