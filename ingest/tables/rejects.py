"""How many records a run may reject before it stops."""

import attrs

from ingest.config.rules import Between


@attrs.frozen
class Rejects:
    """The bounds of one run; a run above `max_rows`, or above both others, commits nothing."""

    max_rows: int = attrs.field(
        default=10_000,
        validator=Between(0, 10_000_000),
        metadata={"help": "Largest number of them. 0: the first bad record stops the run."},
    )
    max_share: float = attrs.field(
        default=0.01,
        validator=Between(0.0, 1.0),
        metadata={
            "help": "Largest share of the messages read, rounded down. 0 forbids all; with 1.0 only "
            "`max_rows` counts."
        },
    )
    min_rows: int = attrs.field(
        default=10,
        validator=Between(0, 10_000_000),
        metadata={"help": "Number of them that a run may reject whatever their share, unless that is 0."},
    )

    def allowed(self, read: int) -> int:
        """Return how many of the messages read may be rejected."""
        by_share = max(self.min_rows, int(self.max_share * read)) if self.max_share else 0
        return min(self.max_rows, by_share)
