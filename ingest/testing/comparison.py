"""A Hudi table against the rows that it must hold, and a difference that a person can read."""

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
"""How many differences are printed."""
WIDTH: Final = 60
"""How much of a value is printed."""
OWN: Final = ("_hoodie_", "_cdc_")
"""How columns begin that no source has."""


def assert_table(
    found: "DataFrame | Path | str",
    expected: Iterable[Row],
    *,
    key: Sequence[str],
    columns: Sequence[str] | None = None,
) -> None:
    """Compare a Hudi table, a frame or a path, with the rows that it must hold; raises `AssertionError`.

    Values must be equal and of one type: `Decimal`, `int`, `float`, `str`, `bytes`, `bool`, `date`, lists
    and dicts; a wall clock (timestamp_ntz) is a `datetime` without zone, an instant (timestamp) one with a
    zone.  NaN equals NaN; a column of floats is compared in 32 bits.

    `columns` are those to compare: by default all but Hudi's and ingest's own (`_cdc_`), and those of the
    latter that an expected row names.  A column that an expected row leaves out must be null.
    """
    frame = _frame(found)
    rows = [dict(row) for row in expected]
    told = dict.fromkeys(name for row in rows for name in row)
    own = [name for name in frame.columns if not name.startswith(OWN)]
    chosen = list(columns) if columns is not None else list(dict.fromkeys([*own, *told]))
    lacking = [name for name in [*key, *chosen] if name not in frame.columns]
    if lacking:
        raise AssertionError(
            f"the table has no column {', '.join(dict.fromkeys(lacking))}: it has {', '.join(frame.columns)}"
        )
    names = list(dict.fromkeys([*key, *chosen]))
    floats = {name for name, kind in frame.dtypes if kind == "float"}
    wanted = [
        {name: _narrow(row.get(name)) if name in floats else row.get(name) for name in names} for row in rows
    ]
    difference = differences(wanted, read_rows(frame, names), key)
    if difference:
        raise AssertionError(_text(difference, len(rows)))


@attrs.frozen
class Difference:
    """One thing that is wrong: a row, or one cell of it."""

    kind: str
    """`missing`, `extra`, `twice` or `differs`."""
    lines: tuple[str, ...]


def differences(expected: Sequence[Row], found: Sequence[Row], key: Sequence[str]) -> list[Difference]:
    """Name every row that is missing, too many or there twice, and every cell that differs."""
    wanted, had = _by_key(expected, key), _by_key(found, key)
    doubles = [place for place, count in Counter(_key(row, key) for row in expected).items() if count > 1]
    if doubles:
        raise UsageError(f"two expected rows have the key {_place(key, doubles[0])}")
    wrong = [
        Difference("missing", (f"missing  {_row(rows[0])}",)) for k, rows in wanted.items() if k not in had
    ]
    for place, rows in had.items():
        if place not in wanted:
            wrong += [Difference("extra", (f"extra    {_row(row)}",)) for row in rows]
            continue
        if len(rows) > 1:
            wrong.append(
                Difference("twice", (f"twice    {_place(key, place)}: {len(rows)} rows of one key",))
            )
        cells = [line for row in rows[:1] for line in _cells(wanted[place][0], row)]
        if cells:
            wrong.append(Difference("differs", (f"differs  {_place(key, place)}", *cells)))
    return wrong


def read_rows(frame: "DataFrame", names: Sequence[str]) -> list[Row]:
    """Read columns of a frame as Python values, instants in UTC whatever the zone of this process."""
    instants = {name for name, kind in frame.dtypes if kind == "timestamp"}
    picked = [f"unix_micros(`{name}`) as `{name}`" if name in instants else f"`{name}`" for name in names]
    kinds = {field.name: field.dataType for field in frame.schema.fields}
    return [
        {name: _instant(row[name]) if name in instants else _plain(row[name], kinds[name]) for name in names}
        for row in frame.selectExpr(*picked).collect()
    ]


def _frame(found: "DataFrame | Path | str") -> "DataFrame":
    if not isinstance(found, Path | str):
        return found
    from pyspark.sql import SparkSession  # noqa: PLC0415  an extra

    spark = SparkSession.getActiveSession()
    if spark is None:
        raise UsageError("no Spark session is there to read a path with", "Use the fixture ingest_spark")
    return spark.read.format("hudi").load(str(found))


# --- values --------------------------------------------------------------------------------------


def _instant(micros: int | None) -> datetime | None:
    return None if micros is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=micros)


def _plain(value: Any, kind: "DataType") -> Any:
    """Bring Spark's values to Python's own: bytes, dicts, and instants inside of others."""
    name = kind.typeName()
    match value:
        case None:
            return None
        case bytearray():
            return bytes(value)
        case datetime() if name == "timestamp":  # collected in the zone of this process
            return value.astimezone(UTC)
        case list():
            return [_plain(one, kind.elementType) for one in value]  # type: ignore[attr-defined] # an array's
        case dict():
            inner = kind.valueType  # type: ignore[attr-defined] # a map's
            return {one: _plain(under, inner) for one, under in value.items()}
        case tuple():
            fields = kind.fields  # type: ignore[attr-defined] # a struct's
            return {one.name: _plain(value[one.name], one.dataType) for one in fields}
        case _:
            return value


def _narrow(value: Any) -> Any:
    """Bring a number to the nearest of 32 bits."""
    if not isinstance(value, float) or not math.isfinite(value):
        return value
    return struct.unpack("f", struct.pack("f", value))[0]


def _same(one: Any, other: Any) -> bool:
    """Tell whether two values are equal, and of one type: 1 is neither true nor 1.0."""
    match one, other:
        case float(), float():
            return one == other or (math.isnan(one) and math.isnan(other))
        case list(), list():
            return len(one) == len(other) and all(map(_same, one, other))
        case dict(), dict():
            return one.keys() == other.keys() and all(_same(one[name], other[name]) for name in one)
        case _:
            return type(one) is type(other) and one == other


# --- rows ----------------------------------------------------------------------------------------


def _key(row: Row, key: Sequence[str]) -> Key:
    return tuple(_hashable(row[name]) for name in key)


def _hashable(value: Any) -> Any:
    """Make a key's part comparable by type too: 1 and true are two keys."""
    return (type(value).__name__, repr(value) if isinstance(value, list | dict | float) else value)


def _by_key(rows: Sequence[Row], key: Sequence[str]) -> dict[Key, list[Row]]:
    kept: dict[Key, list[Row]] = {}
    for row in sorted(rows, key=lambda one: repr(_key(one, key))):
        kept.setdefault(_key(row, key), []).append(row)
    return kept


def _cells(expected: Row, found: Row) -> list[str]:
    return [
        f"  {name}: expected {_value(value)}, found {_value(found[name])}"
        for name, value in expected.items()
        if not _same(value, found[name])
    ]


# --- text ----------------------------------------------------------------------------------------


def _text(wrong: Sequence[Difference], count: int) -> str:
    counted = Counter(one.kind for one in wrong)
    words = {"missing": "missing", "extra": "extra", "twice": "there twice", "differs": "different"}
    summary = ", ".join(f"{counted[kind]} {word}" for kind, word in words.items() if counted[kind])
    lines = [line for one in wrong[:SHOWN] for line in one.lines]
    more = [f"and {len(wrong) - SHOWN} more"] if len(wrong) > SHOWN else []
    return "\n".join([f"the table is not the {count} expected rows: {summary}", *lines, *more])


def _place(key: Sequence[str], place: Key) -> str:
    return ", ".join(f"{name}={_cut(part[1])}" for name, part in zip(key, place, strict=True))


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
