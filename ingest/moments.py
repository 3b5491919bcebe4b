"""Times and durations: milliseconds since 1970, moments in UTC, and the texts that people write and read."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_SECONDS: Final = {"w": 604_800, "d": 86_400, "h": 3_600, "min": 60, "m": 60, "s": 1}
"""The units of a duration, in seconds."""
_SHOWN: Final = ("d", "h", "min")
_DURATION: Final = re.compile(rf"(\d{{1,9}}(?:\.\d+)?)\s*({'|'.join(_SECONDS)})", re.ASCII)
DURATIONS: Final = "a duration in s, min, h, d or w, such as 90s, 15 min or 1d"


def to_moment(millis: int) -> datetime:
    """Convert milliseconds since 1970 into a moment in UTC.  The result is exact, also before 1970."""
    return _EPOCH + millis * _MILLISECOND


def to_millis(moment: datetime) -> int:
    """Convert a moment into milliseconds since 1970, rounded down."""
    return (moment - _EPOCH) // _MILLISECOND


def to_iso(moment: datetime) -> str:
    """Write a moment in UTC as ISO-8601 with `Z`, with milliseconds if it has any."""
    spec = "milliseconds" if moment.microsecond else "seconds"
    return moment.isoformat(timespec=spec).replace("+00:00", "Z")


def moment_or_none(millis: int | None) -> datetime | None:
    """Convert milliseconds, if there are any."""
    return None if millis is None else to_moment(millis)


def iso_or_none(moment: datetime | None) -> str | None:
    """Write a moment, if there is one."""
    return None if moment is None else to_iso(moment)


def parse_duration(text: str) -> float | None:
    """Read a duration, such as `90s`, `15 min` or `1d`, as seconds.

    Return None for a text of another form.
    """
    match = _DURATION.fullmatch(text.strip())
    return float(match[1]) * _SECONDS[match[2]] if match else None


def write_duration(seconds: float) -> str:
    """Write a duration in its largest unit, so that `parse_duration` reads it."""
    units = (f"{seconds / _SECONDS[unit]:.1f} {unit}" for unit in _SHOWN if seconds >= _SECONDS[unit])
    return next(units, f"{seconds:.0f} s")


def parse_moment(text: str) -> datetime | None:
    """Read a time in UTC: ISO-8601, in UTC without a zone, or a duration before now.

    Returns None for a text of another form.
    """
    seconds = parse_duration(text)
    try:
        if seconds is not None:
            return datetime.now(UTC) - timedelta(seconds=seconds)
        moment = datetime.fromisoformat(text.strip())
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
