"""How many records a run may set aside before it stops."""

import attrs

from ingest.tables.rules import between


@attrs.frozen
class Rejects:
    """The bounds of one run; a run above either of them commits nothing.

    `max_share` is of the messages read: of a small run it allows none, unless it is raised.
    """

    max_rows: int = attrs.field(default=10_000, validator=between(0, 10_000_000))
    max_share: float = attrs.field(default=0.01, validator=between(0.0, 1.0))

    def allowed(self, read: int) -> int:
        """Return how many of the messages read may be rejected."""
        return min(self.max_rows, int(self.max_share * read))
