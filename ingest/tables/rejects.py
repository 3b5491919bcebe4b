"""How many records a run may set aside before it stops."""

from typing import Final

import attrs

from ingest.tables.rules import between

FEW: Final = 10
"""Rejects that no share forbids: one bad record of three must not stop a small run."""


@attrs.frozen
class Rejects:
    """The bounds of one run; a run above either of them commits nothing.

    `max_share` is of the messages read, and counts from more than `FEW` rejects on; 0 allows none.
    """

    max_rows: int = attrs.field(default=10_000, validator=between(0, 10_000_000))
    max_share: float = attrs.field(default=0.01, validator=between(0.0, 1.0))

    def allowed(self, read: int) -> int:
        """Return how many of the messages read may be rejected."""
        shared = max(FEW, int(self.max_share * read)) if self.max_share else 0
        return min(self.max_rows, shared)
