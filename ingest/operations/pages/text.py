"""Values as text for people, without secrets and without characters that a page would obey."""

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any, Final

from markupsafe import Markup

from ingest.errors import printable
from ingest.log import masked
from ingest.moments import write_duration
from ingest.settings import mask_url

LONG: Final = 300
"""Characters of a text that a page shows at once."""
_LARGE: Final = ((10**9, "bn"), (10**6, "M"))
_SIZES: Final = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


def cleaned(value: Any, secrets: Collection[str]) -> Any:
    """Return a value as a page may show it: ingest's markup as it is, any other text made safe."""
    if isinstance(value, Markup | bool | int | float):
        return value
    if value is None:
        return ""
    return printable(mask_url(str(masked(str(value), secrets))))


def number(value: float | None) -> str:
    """Write a number with commas, an unknown one as a dash."""
    return "—" if value is None else f"{value:,}"


def rough(value: int) -> str:
    """Write a number in its largest unit from a million on."""
    return next((f"{value / unit:.1f} {name}" for unit, name in _LARGE if value >= unit), f"{value:,}")


def duration(seconds: float | None) -> str:
    """Write a duration in its largest unit."""
    if seconds is None:
        return "—"
    return f"{seconds:.1f} s" if seconds < 10 else write_duration(seconds)  # noqa: PLR2004  a digit


def size(count: int | None) -> str:
    """Write a number of bytes in its largest unit."""
    if count is None:
        return "—"
    return next((f"{count / unit:.1f} {name}" for unit, name in _SIZES if count >= unit), f"{count} B")


def moment(value: datetime | None) -> str:
    """Write a moment in UTC, to the second."""
    return "—" if value is None else f"{value.astimezone(UTC):%Y-%m-%d %H:%M:%S}"
