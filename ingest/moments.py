"""Milliseconds since 1970, moments in UTC, and their ISO-8601 text: the one conversion of each."""

from datetime import UTC, datetime, timedelta
from typing import Final

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def to_moment(millis: int) -> datetime:
    """Convert milliseconds since 1970 into a moment in UTC; exact, also before 1970."""
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
