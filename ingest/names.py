"""The types of names that travel between rooms in place of bare strings and numbers."""

import hashlib
import re
from collections.abc import Sequence
from typing import Final, NewType, Self

import attrs

TABLE_PAGES: Final = "table"
"""The folder of the tables' pages, next to the page of all tables."""
_FILE_NAME: Final = re.compile(r"[A-Za-z0-9_]{1,100}")

Topic = NewType("Topic", str)
"""A Kafka topic."""

HEARTBEATS: Final = "__debezium-heartbeat"
"""Debezium's `topic.heartbeat.prefix`: heartbeat topics add `.` and the connector's prefix."""

Subject = NewType("Subject", str)
"""A registry subject, such as `server1.dbo.customers-value`."""

SchemaId = NewType("SchemaId", int)
"""The registry's id of a schema: the four bytes behind the magic byte of a payload."""

Partition = NewType("Partition", int)
"""A partition of a topic."""

Instant = NewType("Instant", str)
"""A Hudi commit: the requested time of its instant, as `yyyyMMddHHmmssSSS`."""


@attrs.frozen(order=True)
class Truncate:
    """A truncate of a source's table: its position, coordinates, and source time in ms since 1970 (UTC)."""

    position: str
    partition: Partition
    offset: int
    source_ms: int | None = attrs.field(default=None, order=False)


class Reading(str):
    """The step of a table that reads messages.  `total` is the largest possible number of messages."""

    __slots__ = ("total",)

    total: int

    def __new__(cls, total: int) -> Self:
        """Write the step as text."""
        step = super().__new__(cls, f"reading {total:,} offsets")
        step.total = total
        return step

    def __getnewargs__(self) -> tuple[int]:  # type: ignore[override]  # str's own is its text
        """Return the arguments of a copy: an error that names its step pickles."""
        return (self.total,)


def first_few(names: Sequence[str], limit: int = 4) -> str:
    """Return names for a person, the first few of many."""
    rest = len(names) - limit
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:limit])} and {rest} more"


def page_name(table: str) -> str:
    """Return the file name of a table's page, or a hash for a name that is not plain."""
    if _FILE_NAME.fullmatch(table):
        return f"{table}.html"
    return f"{hashlib.sha256(table.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.html"
