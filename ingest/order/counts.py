"""The counts of a batch."""

from collections.abc import Sequence
from datetime import datetime

import attrs
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, TOMBSTONE, TRUNCATE
from ingest.compile.table import CompiledTable
from ingest.moments import moment_or_none
from ingest.names import SchemaId
from ingest.order.batch_counts import BatchCounts
from ingest.order.bookkeeping import older_position_sql, position_of
from ingest.order.latest import REJECTED, WRITERS_PER_WORD, word_count
from ingest.order.tombstones import bare_sql, has_change_sql
from ingest.order.truncates import find_truncates
from ingest.order.version_values import is_partial_sql
from ingest.spark.planned_queries import Plans
from ingest.sql.template import Sql, literal, sql


def count_rows(
    latest: DataFrame, compiled: CompiledTable, plans: Plans | None = None, truncated_at: str | None = None
) -> BatchCounts:
    """Count the rows to write and to delete of a table with one row per key.

    `truncated_at` is the position of an earlier truncate that changes of the batch may be older than.
    Applying a truncate takes two more jobs: its position, and the count of older changes.
    """
    counts = count(latest, compiled, None if truncated_at else plans, truncated_at)
    if TRUNCATE not in counts.ignored or compiled.table.target.truncate != "apply":
        return counts
    newest = find_truncates(latest, compiled)[-1]
    counts = count(latest, compiled, None, max(newest.position, truncated_at or ""))
    return attrs.evolve(counts, truncates=(newest,))


def older_sql(compiled: CompiledTable, truncated_at: str | None) -> Sql:
    """Return a condition that is true for a key's newest change that a truncate deletes."""
    if not truncated_at:
        return sql("false")
    return older_position_sql(compiled, position_of(compiled, sql("newest")), literal(truncated_at))


def count(
    latest: DataFrame, compiled: CompiledTable, plans: Plans | None = None, truncated_at: str | None = None
) -> BatchCounts:
    """Count a batch in one small Spark job, by `plans` if it was reduced in one task.

    `truncated_at` is the position of a truncate to apply, or of an earlier one.
    """
    words = [f"seen_{i}" for i in range(word_count(compiled))]

    def group(rows: DataFrame) -> DataFrame:
        return _group(rows, compiled, words, truncated_at)

    name = f"counts of {compiled.table.name}"
    groups = (plans.apply(name, compiled, group, latest) if plans else group(latest)).collect()
    rejected = [group for group in groups if group.kind == REJECTED]
    unrejected = [group for group in groups if group.kind != REJECTED]
    changes = _where(groups, has_change=True)
    current = _where(changes, older=False)
    upserts = _where(current, deletes=False)
    is_soft = compiled.model.marks_deletes
    marked = [group for group in changes if is_soft and (group.deletes or group.older)]
    over_changes = _sum(_where(current, bare=True), "rows")
    return BatchCounts(
        upserted=_sum(upserts, "rows"),
        deleted=_sum(_where(current, deletes=True), "rows"),
        superseded=_sum(changes, "messages")
        - _sum(changes, "tombstones")
        - (_sum(current, "rows") - over_changes),
        ignored=_ignored(groups, over_changes),
        rejected=_sum(rejected, "rows"),
        schema_ids=_seen(unrejected, words, compiled.schema_ids),
        rejected_ids=_seen(rejected, words, compiled.schema_ids),
        max_source_ts=_newest(changes),
        rows_needing_stored_values=_sum(upserts, "rows_needing_stored_values"),
        soft_deletes_needing_stored_values=_sum(marked, "rows_needing_stored_values"),
        read_bytes=_sum(groups, "bytes"),
        bare_tombstones=_sum(_where(groups, bare=True), "rows"),
        bare_over_changes=over_changes,
        truncated_at=truncated_at,
        partials=_sum(changes, "partials"),
    )


def _group(
    latest: DataFrame, compiled: CompiledTable, words: Sequence[str], truncated_at: str | None
) -> DataFrame:
    """Add up the rows of each kind, deletes and older ones apart."""
    change, bare = literal(CHANGE), bare_sql(compiled)
    older, has_change = older_sql(compiled, truncated_at), has_change_sql(compiled)
    flags = {
        "deletes": sql("false") if compiled.model.is_log else sql("newest.op = 'd' or {bare}", bare=bare),
        "older": sql("kind = {change} and {older}", change=change, older=older),
        "bare": bare,
        "has_change": sql("kind = {change} and {has}", change=change, has=has_change),
    }
    groups = latest.groupBy("kind", *(F.expr(str(flag)).alias(name) for name, flag in flags.items()))
    needing, partials = sql("false"), sql("0L")
    if compiled.may_be_partial:
        needing = sql("base is null and later is not null")
        partials = sql("if(later is null, 0L, cast(size(later) as bigint))")
    elif compiled.model.has_versions:
        lacks = is_partial_sql(compiled)
        partials = sql("if(kind = {change} and {lacks}, 1L, 0L)", change=change, lacks=lacks)
    return groups.agg(
        F.count(F.lit(1)).alias("rows"),
        F.sum("messages").alias("messages"),
        F.sum("tombstones" if compiled.merges_tombstones else F.lit(0)).alias("tombstones"),
        F.sum("bytes").alias("bytes"),
        F.max("source_ms").alias("source_ms"),
        F.expr(str(sql("count_if({c})", c=needing))).alias("rows_needing_stored_values"),
        F.expr(str(sql("sum({c})", c=partials))).alias("partials"),
        *(F.bit_or(word).alias(word) for word in words),
    )


def _where(groups: Sequence[Row], **flags: bool) -> list[Row]:
    """Return the groups with these values of their flags."""
    return [group for group in groups if all(bool(group[name]) == flag for name, flag in flags.items())]


def _sum(groups: Sequence[Row], column: str) -> int:
    return sum(group[column] for group in groups)


def _newest(groups: Sequence[Row]) -> datetime | None:
    times_ms = (group.source_ms for group in groups if group.source_ms is not None)
    return moment_or_none(max(times_ms, default=None))


def _ignored(groups: Sequence[Row], over_changes: int) -> dict[str, int]:
    """Count the messages that change no row, by kind, except bare tombstones over a key's changes."""
    tombstones = _sum([group for group in groups if group.kind == CHANGE], "tombstones") - over_changes
    kinds = {group.kind: group.messages for group in groups if group.kind not in (CHANGE, REJECTED)}
    return {**kinds, **({TOMBSTONE: tombstones} if tombstones else {})}


def _seen(rows: Sequence[Row], words: Sequence[str], schema_ids: Sequence[SchemaId]) -> tuple[SchemaId, ...]:
    bits = 0
    for row in rows:
        for index, word in enumerate(words):
            bits |= (row[word] or 0) << (index * WRITERS_PER_WORD)
    return tuple(schema_id for number, schema_id in enumerate(schema_ids) if bits >> number & 1)
