"""The types of names that travel between rooms in place of bare strings and numbers."""

from collections.abc import Sequence
from typing import NewType

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


def first_few(names: Sequence[str], limit: int = 4) -> str:
    """Return names for a person, the first few of many."""
    rest = len(names) - limit
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:limit])} and {rest} more"
