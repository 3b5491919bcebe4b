"""Which records a run rejects for their size, and how many it may reject before it stops."""

from typing import Final, Literal

import attrs

from ingest.config.rules import Between

MIB: Final = 1 << 20
RECORD_MB: Final = 64
"""A batch has several copies of a record in memory: this size fits a heap of 2 GiB."""


@attrs.frozen
class Rejects:
    """The bounds of one run.  A run above `max_rows`, or above both others, commits nothing."""

    max_rows: int = attrs.field(
        default=10_000,
        validator=Between(0, 10_000_000),
        metadata={"help": "Largest number of rejects. 0: the first bad record stops the table."},
    )
    max_share: float = attrs.field(
        default=0.01,
        validator=Between(0.0, 1.0),
        metadata={
            "help": "Largest share of rejects in the messages read, rounded down. 0 forbids all. With 1.0 "
            "only `max_rows` counts."
        },
    )
    min_rows: int = attrs.field(
        default=10,
        validator=Between(0, 10_000_000),
        metadata={
            "expert": True,
            "help": "Number of rejects that are allowed whatever `max_share`, unless a limit is 0.",
        },
    )

    max_record_mb: int = attrs.field(
        default=RECORD_MB,
        validator=Between(1, 1024),
        metadata={
            "expert": True,
            "help": "Largest record, in MiB without compression: key, value and headers. Its decoded values "
            "may take four times as much memory.",
        },
    )
    too_large: Literal["reject", "fail"] = attrs.field(
        default="reject",
        metadata={
            "expert": True,
            "help": "Effect of a larger record, or of one for which the JVM runs out of memory: `reject` "
            "it, or `fail` the table.",
        },
    )

    @property
    def max_record_bytes(self) -> int:
        """Return the largest record, in bytes."""
        return self.max_record_mb * MIB

    def allowed(self, read: int) -> int:
        """Return how many of the messages read may be rejected."""
        by_share = max(self.min_rows, int(self.max_share * read)) if self.max_share else 0
        return min(self.max_rows, by_share)
