"""What a folded range holds, counted."""

from collections.abc import Sequence
from datetime import datetime

import attrs
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, TOMBSTONE, TRUNCATE
from ingest.compile.position import position_sql, without_partition_terms
from ingest.compile.table import CompiledTable
from ingest.moments import moment_or_none, to_millis
from ingest.names import SchemaId
from ingest.order.latest import REJECTED, WRITERS_PER_WORD, word_count
from ingest.order.tombstones import bare_sql, has_change_sql

PARTIALS = "partials"
"""The counter of changes that lacked values, in a commit: the next run expects more of them."""


@attrs.frozen
class BatchCounts:
    """What a range held.  `read` is the sum of all counts of messages."""

    upserted: int = 0
    deleted: int = 0
    superseded: int = 0
    ignored: dict[str, int] = attrs.Factory(dict)
    rejected: int = 0
    schema_ids: tuple[SchemaId, ...] = ()
    """The schemas that wrote what is not rejected."""
    rejected_ids: tuple[SchemaId, ...] = ()
    """The schemas that wrote what is rejected."""
    max_source_ts: datetime | None = None
    rows_needing_stored_values: int = 0
    """Rows that lack values which only the table can give."""
    soft_deletes_needing_stored_values: int = 0
    """Rows to be marked as deleted, whose values only the table can give."""
    partials: int = 0
    """Changes that lack values: all of them, or, where rows are completed, those that count."""
    read_bytes: int = 0
    """Keys and values of all messages."""
    bare_tombstones: int = 0
    """Keys whose last message is a tombstone without its delete: the table may hold their row."""
    bare_over_changes: int = 0
    """How many of them have changes in the range, which count as superseded."""
    truncated_at: str | None = None
    """The position of the newest truncate that is to be applied: nothing older than it stays."""

    @property
    def looks_back(self) -> bool:
        """Whether the rows to write depend on those that the table holds."""
        return bool(
            self.rows_needing_stored_values
            or self.soft_deletes_needing_stored_values
            or self.bare_tombstones
            or self.truncated_at
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

    def with_tombstone_deletes(self, rows: int) -> "BatchCounts":
        """Count as deletes the tombstones that delete so many stored rows."""
        tombstones = self.ignored.get(TOMBSTONE, 0) - rows
        others = {kind: count for kind, count in self.ignored.items() if kind != TOMBSTONE}
        ignored = {**others, **({TOMBSTONE: tombstones} if tombstones else {})}
        return attrs.evolve(self, deleted=self.deleted + rows, ignored=ignored)

    def counters(self) -> dict[str, int]:
        """Return the numbers as they are kept in a commit."""
        ignored = {f"ignored.{kind}": count for kind, count in self.ignored.items()}
        return {
            "read": self.read,
            "upserted": self.upserted,
            "deleted": self.deleted,
            "superseded": self.superseded,
            **({REJECTED: self.rejected} if self.rejected else {}),
            **({PARTIALS: self.partials} if self.partials else {}),
            **ignored,
        }


def count_batch(folded: DataFrame, compiled: CompiledTable) -> BatchCounts:
    """Count what a folded range holds: one small Spark job, a first look at what is written later.

    A truncate to be applied takes two more: its place, and the count of what is older.
    """
    counted = _count(folded, compiled, None)
    policy = compiled.table.target.truncate
    if TRUNCATE not in counted.ignored or policy != "apply" or compiled.keeps_all:
        return counted
    return _count(folded, compiled, _truncated_at(folded, compiled))


def position_of(compiled: CompiledTable, place: str) -> str:
    """Return SQL for the position of a place."""
    return position_sql(compiled.terms, compiled.table.epoch, place)


def older_sql(compiled: CompiledTable, truncated_at: str | None) -> str:
    """Return SQL that is true for a folded change that a truncate has swept away."""
    if not truncated_at:
        return "false"
    return older_position_sql(compiled, position_of(compiled, "newest.place"), f"'{truncated_at}'")


def older_position_sql(compiled: CompiledTable, position: str, truncate: str) -> str:
    """Return SQL that is true for the position of a row that is older than that of a truncate."""
    row, end = (without_partition_terms(compiled.terms, sql) for sql in (position, truncate))
    return f"{row} < {end}"


def _truncated_at(folded: DataFrame, compiled: CompiledTable) -> str:
    truncate = folded.where(f"kind = '{TRUNCATE}'")
    return str(truncate.selectExpr(f"{position_of(compiled, 'newest.place')} as at").collect()[0]["at"])


def _count(folded: DataFrame, compiled: CompiledTable, truncated_at: str | None) -> BatchCounts:
    bare = bare_sql(compiled)
    words = [f"seen_{i}" for i in range(word_count(compiled))]
    rows_needing_stored_values = "base is null and size(later) > 0" if compiled.completes else "false"
    partials = "size(later)" if compiled.completes else "partials" if compiled.may_be_partial else "0L"
    rows = (
        folded.groupBy(
            "kind",
            F.expr("false" if compiled.keeps_all else f"newest.op = 'd' or {bare}").alias("deletes"),
            F.expr(bare).alias("bare"),
            F.expr(f"kind = '{CHANGE}' and {has_change_sql(compiled)}").alias("has_change"),
            F.expr(f"kind = '{CHANGE}' and {older_sql(compiled, truncated_at)}").alias("older"),
        )
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.sum("messages").alias("messages"),
            F.sum("tombstones" if compiled.keyed_tombstones else F.lit(0)).alias("tombstones"),
            F.sum("bytes").alias("bytes"),
            F.max("source_ms").alias("source_ms"),
            F.expr(f"count_if({rows_needing_stored_values})").alias("rows_needing_stored_values"),
            F.expr(f"sum({partials})").alias("partials"),
            *(F.bit_or(word).alias(word) for word in words),
        )
        .collect()
    )
    changes = [row for row in rows if row.has_change]
    marks = compiled.marks_deleted
    kept = [row for row in changes if not row.older]
    over_changes = sum(row.rows for row in kept if row.bare)
    newest_ms = max((row.source_ms for row in changes if row.source_ms is not None), default=None)
    return BatchCounts(
        upserted=sum(row.rows for row in kept if not row.deletes),
        deleted=sum(row.rows for row in kept if row.deletes),
        superseded=sum(row.messages - row.tombstones for row in changes)
        - sum(row.rows for row in kept if not row.bare),
        ignored=_ignored(rows, over_changes),
        rejected=sum(row.rows for row in rows if row.kind == REJECTED),
        schema_ids=_seen([row for row in rows if row.kind != REJECTED], words, compiled.schema_ids),
        rejected_ids=_seen([row for row in rows if row.kind == REJECTED], words, compiled.schema_ids),
        max_source_ts=moment_or_none(newest_ms),
        rows_needing_stored_values=sum(row.rows_needing_stored_values for row in kept if not row.deletes),
        soft_deletes_needing_stored_values=sum(
            row.rows_needing_stored_values for row in changes if row.deletes or row.older
        )
        if marks
        else 0,
        read_bytes=sum(row.bytes for row in rows),
        bare_tombstones=sum(row.rows for row in rows if row.bare),
        bare_over_changes=over_changes,
        truncated_at=truncated_at,
        partials=sum(row.partials for row in changes),
    )


def _ignored(rows: Sequence[Row], over_changes: int) -> dict[str, int]:
    """Count the messages that change no row, by kind; a bare tombstone deletes the row of a change."""
    tombstones = sum(row.tombstones for row in rows if row.kind == CHANGE) - over_changes
    kinds = {row.kind: row.messages for row in rows if row.kind not in (CHANGE, REJECTED)}
    return {**kinds, **({TOMBSTONE: tombstones} if tombstones else {})}


def _seen(rows: Sequence[Row], words: Sequence[str], schema_ids: Sequence[SchemaId]) -> tuple[SchemaId, ...]:
    bits = 0
    for row in rows:
        for index, word in enumerate(words):
            bits |= (row[word] or 0) << (index * WRITERS_PER_WORD)
    return tuple(one for place, one in enumerate(schema_ids) if bits >> place & 1)
