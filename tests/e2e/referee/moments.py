"""Wall clocks and instants as text."""

from datetime import UTC, date, datetime, timedelta

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICRO = timedelta(microseconds=1)


def wall_clock(text: str) -> datetime:
    """Read a date with a time of day, truncated to microseconds."""
    day, _, clock = text.partition(" ")
    clock, _, digits = clock.partition(".")
    return datetime.fromisoformat(f"{day}T{clock}").replace(microsecond=int(f"{digits:0<6}"[:6]))


def day_of(text: str) -> date:
    """Read a date."""
    return date.fromisoformat(text)


def instant(text: str) -> int:
    """Read `local ±hh:mm` as microseconds since 1970 in UTC."""
    local, _, offset = text.rpartition(" ")
    return to_micros(wall_clock(local) - offset_of(offset))


def to_micros(utc: datetime) -> int:
    """Return the microseconds since 1970 of a UTC clock."""
    return (utc.replace(tzinfo=UTC) - EPOCH) // MICRO


def offset_of(text: str) -> timedelta:
    """Read `±hh[:mm]`."""
    hours, _, minutes = text[1:].partition(":")
    shift = timedelta(hours=int(hours), minutes=int(minutes or 0))
    return -shift if text[0] == "-" else shift


def time_of_day(text: str, digits: int) -> str:
    """Write a time of day with a number of digits."""
    clock, _, fraction = text.partition(".")
    return f"{clock}.{fraction:0<{digits}}"
