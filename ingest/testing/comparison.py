"""Compare a Hudi table with expected rows, and describe the differences."""

import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs

from ingest.errors import UsageError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

Row = Mapping[str, Any]
Key = tuple[Any, ...]

SHOWN: Final = 20
"""Differences to print."""
WIDTH: Final = 60
"""Characters to print of a value."""
OWN: Final = ("_hoodie_", "_cdc_")
"""Prefixes of the columns that Hudi and ingest add."""


def assert_table(
    actual: "DataFrame | Path | str",
    expected: Iterable[Row],
    *,
    key: Sequence[str],
    columns: Sequence[str] | None = None,
) -> None:
    """Compare a Hudi table (a DataFrame or a path) with the expected rows.  Raises `AssertionError`.

    Values must be equal and of the same type: `Decimal`, `int`, `float`, `str`, `bytes`, `bool`, `date`,
    lists and dicts.  A wall clock (timestamp_ntz) is a `datetime` without time zone, and an instant
    (timestamp) is one with a time zone.  NaN equals NaN, and a column of floats is compared in 32 bits.

    `columns` are the columns to compare.  The default is all except the columns that Hudi and ingest add,
    plus the `_cdc_` columns that an expected row names.  A column absent from an expected row must be null.
    """
    df = _dataframe(actual)
    rows = [dict(row) for row in expected]
    names = _compared(df.columns, rows, key, columns)
    floats = {name for name, spark_type in df.dtypes if spark_type == "float"}
    narrowed = [
        {name: _narrow(row.get(name)) if name in floats else row.get(name) for name in names} for row in rows
    ]
    difference = differences(narrowed, read_rows(df, names), key)
    if difference:
        raise AssertionError(_text(difference, len(rows)))


def _compared(
    present: Sequence[str], rows: Sequence[Row], key: Sequence[str], columns: Sequence[str] | None
) -> list[str]:
    """Return the columns to compare, the key first.  Raises `AssertionError` for columns not `present`."""
    if columns is None:
        columns = [name for name in present if not name.startswith(OWN)]
        columns += [name for row in rows for name in row]
    names = list(dict.fromkeys([*key, *columns]))
    missing = [name for name in names if name not in present]
    if missing:
        raise AssertionError(f"the table lacks the columns {', '.join(missing)}: it has {', '.join(present)}")
    return names


@attrs.frozen
class Difference:
    """A difference: a row, or cells of it."""

    kind: str
    """`missing`, `extra`, `twice` or `differs`."""
    lines: tuple[str, ...]


def differences(expected: Sequence[Row], actual: Sequence[Row], key: Sequence[str]) -> list[Difference]:
    """Return every missing, extra and duplicate row, and every cell that differs."""
    before, after = _by_key(expected, key), _by_key(actual, key)
    doubles = [values for values, count in Counter(_key(row, key) for row in expected).items() if count > 1]
    if doubles:
        raise UsageError(f"two expected rows have the key {_named(key, doubles[0])}")
    result = [
        Difference("missing", (f"missing  {_row(rows[0])}",)) for k, rows in before.items() if k not in after
    ]
    for values, rows in after.items():
        if values not in before:
            result += [Difference("extra", (f"extra    {_row(row)}",)) for row in rows]
            continue
        name = _named(key, values)
        if len(rows) > 1:
            result.append(Difference("twice", (f"twice    {name}: {len(rows)} rows of one key",)))
        if cells := _cells(before[values][0], rows[0]):
            result.append(Difference("differs", (f"differs  {name}", *cells)))
    return result


def read_rows(df: "DataFrame", names: Sequence[str]) -> list[Row]:
    """Read columns of a DataFrame as Python values.  Instants are in UTC."""
    instants = {name for name, spark_type in df.dtypes if spark_type == "timestamp"}
    picked = [f"unix_micros(`{name}`) as `{name}`" if name in instants else f"`{name}`" for name in names]
    types = {field.name: field.dataType for field in df.schema.fields}
    return [
        {name: _instant(row[name]) if name in instants else _plain(row[name], types[name]) for name in names}
        for row in df.selectExpr(*picked).collect()
    ]


def _dataframe(actual: "DataFrame | Path | str") -> "DataFrame":
    if not isinstance(actual, Path | str):
        return actual
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra

    spark = SparkSession.getActiveSession()
    if spark is None:
        raise UsageError("reading a path needs a Spark session", "Use the fixture ingest_spark")
    return spark.read.format("hudi").load(str(actual))


# --- values --------------------------------------------------------------------------------------


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _plain(value: Any, kind: "DataType") -> Any:
    """Convert Spark's values to plain Python: bytes, dicts, and instants inside other values."""
    name = kind.typeName()
    match value:
        case None:
            return None
        case bytearray():
            return bytes(value)
        case datetime() if name == "timestamp":  # collected in the zone of this process
            return value.astimezone(UTC)
        case list():
            return [_plain(item, kind.elementType) for item in value]  # type: ignore[attr-defined] # an array's
        case dict():
            inner = kind.valueType  # type: ignore[attr-defined] # a map's
            return {name: _plain(item, inner) for name, item in value.items()}
        case tuple():
            fields = kind.fields  # type: ignore[attr-defined] # a struct's
            return {field.name: _plain(value[field.name], field.dataType) for field in fields}
        case _:
            return value


def _narrow(value: Any) -> Any:
    """Round a number to 32 bits."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return struct.unpack("f", struct.pack("f", value))[0]


def _same(left: Any, right: Any) -> bool:
    """Return whether two values are equal and of the same type: 1 is neither true nor 1.0."""
    match left, right:
        case float(), float():
            return left == right or (math.isnan(left) and math.isnan(right))
        case list(), list():
            return len(left) == len(right) and all(map(_same, left, right))
        case dict(), dict():
            return left.keys() == right.keys() and all(_same(left[name], right[name]) for name in left)
        case _:
            return type(left) is type(right) and left == right


# --- rows ----------------------------------------------------------------------------------------


def _key(row: Row, key: Sequence[str]) -> Key:
    return tuple(_hashable(row[name]) for name in key)


def _hashable(value: Any) -> Any:
    """Make a key value comparable by type too: 1 and true are different keys."""
    return (type(value).__name__, repr(value) if isinstance(value, list | dict | float) else value)


def _by_key(rows: Sequence[Row], key: Sequence[str]) -> dict[Key, list[Row]]:
    groups: dict[Key, list[Row]] = {}
    for row in sorted(rows, key=lambda row: repr(_key(row, key))):
        groups.setdefault(_key(row, key), []).append(row)
    return groups


def _cells(expected: Row, actual: Row) -> list[str]:
    return [
        f"  {name}: expected {_value(value)}, found {_value(actual[name])}"
        for name, value in expected.items()
        if not _same(value, actual[name])
    ]


# --- text ----------------------------------------------------------------------------------------


def _text(differences: Sequence[Difference], count: int) -> str:
    counted = Counter(difference.kind for difference in differences)
    words = {"missing": "missing", "extra": "extra", "twice": "there twice", "differs": "different"}
    summary = ", ".join(f"{counted[kind]} {word}" for kind, word in words.items() if counted[kind])
    lines = [line for difference in differences[:SHOWN] for line in difference.lines]
    omitted = [f"and {len(differences) - SHOWN} more"] if len(differences) > SHOWN else []
    return "\n".join([f"the table is not the {count} expected rows: {summary}", *lines, *omitted])


def _named(key: Sequence[str], values: Key) -> str:
    return ", ".join(f"{name}={_cut(part[1])}" for name, part in zip(key, values, strict=True))


def _row(row: Row) -> str:
    return ", ".join(f"{name}={_cut(value)}" for name, value in row.items())


def _value(value: Any) -> str:
    kind = type(value).__name__
    if isinstance(value, datetime):
        kind += " with a zone" if value.tzinfo else " without a zone"
    return "null" if value is None else f"{_cut(value)} ({kind})"


def _cut(value: Any) -> str:
    text = str(value) if isinstance(value, datetime) else repr(value)
    return text if len(text) <= WIDTH else f"{text[:WIDTH]}…"
