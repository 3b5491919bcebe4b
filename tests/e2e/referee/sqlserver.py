"""SQL Server's text."""

from decimal import Decimal

from tests.e2e.referee.kind import DOUBLE, FLOAT, INT, TEXT, Kind
from tests.e2e.referee.moments import day_of, instant, time_of_day, wall_clock


def kind_of(declared: str) -> Kind:
    """Return the reader of a declared type."""
    return _KINDS[declared.partition("(")[0]]


def _time(text: str) -> str:
    """Write a time of day with the digits of Debezium's type for it: ms, µs or ns."""
    digits = len(text.partition(".")[2])
    return time_of_day(text, 3 if digits <= 3 else 6 if digits <= 6 else 9)


_BINARY = Kind(lambda text: bytes.fromhex(text[2:]))
_CLOCK = Kind(wall_clock)
_DECIMAL = Kind(Decimal)
_KINDS = {
    **dict.fromkeys(("tinyint", "smallint", "int", "bigint"), INT),
    **dict.fromkeys(("decimal", "numeric", "money", "smallmoney"), _DECIMAL),
    **dict.fromkeys(("binary", "varbinary", "rowversion", "image", "timestamp"), _BINARY),
    **dict.fromkeys(
        ("char", "varchar", "nchar", "nvarchar", "text", "ntext", "xml", "uniqueidentifier"), TEXT
    ),
    **dict.fromkeys(("datetime", "smalldatetime", "datetime2"), _CLOCK),
    "bit": Kind(lambda text: text == "1"),
    "float": DOUBLE,
    "real": FLOAT,
    "date": Kind(day_of),
    "time": Kind(_time),
    "datetimeoffset": Kind(instant),
}
