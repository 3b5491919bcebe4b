"""How many records a run may reject before it stops."""

import attrs

from ingest.config.rules import Between


@attrs.frozen
class Rejects:
    """The bounds of one run; a run above either of them commits nothing."""

    max_rows: int = attrs.field(
        default=10_000,
        validator=Between(0, 10_000_000),
        metadata={"help": "Largest number of them. 0: the first bad record stops the run."},
    )
    max_share: float = attrs.field(
        default=0.01,
        validator=Between(0.0, 1.0),
        metadata={
            "help": "Largest share of the messages read, rounded down: by the default, one bad record stops "
            "a run over fewer than a hundred. 0 allows not a single one; with 1.0 only `max_rows` counts."
        },
    )

    def allowed(self, read: int) -> int:
        """Return how many of the messages read may be rejected."""
        return min(self.max_rows, int(self.max_share * read))
