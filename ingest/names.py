"""The types of names that travel between rooms in place of bare strings and numbers."""

from collections.abc import Sequence
from typing import NewType, Self

Topic = NewType("Topic", str)
"""A Kafka topic."""

Subject = NewType("Subject", str)
"""A registry subject, such as `server1.dbo.customers-value`."""

SchemaId = NewType("SchemaId", int)
"""The registry's id of a schema: the four bytes behind the magic byte of a payload."""

Partition = NewType("Partition", int)
"""A partition of a topic."""

Instant = NewType("Instant", str)
"""A Hudi commit: the requested time of its instant, as `yyyyMMddHHmmssSSS`."""


class Reading(str):
    """The step of a table that reads messages; `total` is their number, at most."""

    __slots__ = ("total",)

    total: int

    def __new__(cls, total: int) -> Self:
        """Write the step as text."""
        step = super().__new__(cls, f"reading {total:,} offsets")
        step.total = total
        return step


def first_few(names: Sequence[str], limit: int = 4) -> str:
    """Return names for a person, the first few of many."""
    rest = len(names) - limit
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:limit])} and {rest} more"
