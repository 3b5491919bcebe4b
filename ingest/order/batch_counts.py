"""The counts of a batch, as values."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import chain

import attrs

from ingest.compile.event import TOMBSTONE
from ingest.moments import to_millis
from ingest.names import SchemaId, Truncate


def _by_name(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items()))


@attrs.frozen
class BatchCounts:
    """The counts of a batch.  `read` is the sum of all counts of messages."""

    upserted: int = 0
    deleted: int = 0
    superseded: int = 0
    ignored: dict[str, int] = attrs.field(factory=dict, converter=_by_name)
    rejected: int = 0
    schema_ids: tuple[SchemaId, ...] = ()
    """The schemas of the messages that are not rejected."""
    rejected_ids: tuple[SchemaId, ...] = ()
    """The schemas of rejected messages."""
    max_source_ts: datetime | None = None
    rows_needing_stored_values: int = 0
    """Rows with missing values that only the table has."""
    soft_deletes_needing_stored_values: int = 0
    """Rows to mark as deleted with values that only the table has."""
    partials: int = 0
    """Changes that lack values and follow the newest whole row of their key."""
    read_bytes: int = 0
    """Keys and values of all messages."""
    bare_tombstones: int = 0
    """Keys whose last message is a tombstone without its delete: the table may hold their row."""
    bare_over_changes: int = 0
    """The number of these with changes in the batch, which count as superseded."""
    truncated_at: str | None = None
    """The position of the newest truncate, of the batch or before: older changes do not count."""
    truncates: tuple[Truncate, ...] = ()
    """The truncates of the batch to apply: of a history all, of other tables the newest."""
    other_tables: Mapping[str, int] = attrs.Factory(dict)
    """The messages of other tables in the same topic, by the names of these in the source."""

    @property
    def applied(self) -> dict[str, int]:
        """The numbers of rows that change."""
        return {"upserted": self.upserted, "deleted": self.deleted}

    @property
    def registered_ids(self) -> tuple[SchemaId, ...]:
        """The schemas that a registry numbers."""
        return tuple(schema_id for schema_id in self.schema_ids if schema_id > 0)

    @property
    def looks_back(self) -> bool:
        """Whether the rows to write depend on stored ones."""
        return bool(
            self.rows_needing_stored_values
            or self.soft_deletes_needing_stored_values
            or self.bare_tombstones
            or self.truncates
        )

    def with_outside(self, rows: int) -> "BatchCounts":
        """Count as ignored the rows that the condition of the table file leaves out."""
        if not rows:
            return self
        return attrs.evolve(self, upserted=self.upserted - rows, ignored={**self.ignored, "filtered": rows})

    def with_tombstone_deletes(self, rows: int) -> "BatchCounts":
        """Count as deletes the tombstones that delete this number of stored rows."""
        tombstones = self.ignored.get(TOMBSTONE, 0) - rows
        counts = {**self.ignored, TOMBSTONE: tombstones}
        ignored = {kind: count for kind, count in counts.items() if kind != TOMBSTONE or count}
        return attrs.evolve(self, deleted=self.deleted + rows, ignored=ignored)

    def with_others(self, others: "BatchCounts") -> "BatchCounts":
        """Add messages that are ignored before they are decoded."""
        if not others.ignored:
            return self
        ignored = Counter(self.ignored) + Counter(others.ignored)
        return attrs.evolve(
            self,
            ignored=dict(ignored),
            read_bytes=self.read_bytes + others.read_bytes,
            other_tables=others.other_tables,
        )

    @property
    def max_source_ms(self) -> int | None:
        """The newest source time, in ms since 1970."""
        return None if self.max_source_ts is None else to_millis(self.max_source_ts)

    @property
    def read(self) -> int:
        """Messages read from the range."""
        changes = self.upserted + self.deleted + self.superseded
        return changes + sum(self.ignored.values()) + self.rejected

    def counters(self) -> dict[str, int]:
        """Return the counts as a commit stores them."""
        ignored = {f"ignored.{kind}": count for kind, count in self.ignored.items()}
        return {
            "read": self.read,
            "upserted": self.upserted,
            "deleted": self.deleted,
            "superseded": self.superseded,
            **({"rejected": self.rejected} if self.rejected else {}),
            **ignored,
        }


def total(batches: Sequence[BatchCounts]) -> BatchCounts:
    """Add the counts of batches from several topics."""
    ignored = Counter[str]()
    for counts in batches:
        ignored.update(counts.ignored)
    times = (counts.max_source_ts for counts in batches if counts.max_source_ts is not None)
    return BatchCounts(
        upserted=sum(counts.upserted for counts in batches),
        deleted=sum(counts.deleted for counts in batches),
        superseded=sum(counts.superseded for counts in batches),
        ignored=dict(ignored),
        rejected=sum(counts.rejected for counts in batches),
        schema_ids=tuple(dict.fromkeys(chain.from_iterable(counts.schema_ids for counts in batches))),
        rejected_ids=tuple(dict.fromkeys(chain.from_iterable(counts.rejected_ids for counts in batches))),
        max_source_ts=max(times, default=None),
        read_bytes=sum(counts.read_bytes for counts in batches),
    )
