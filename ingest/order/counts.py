"""The counts of a batch."""

from collections.abc import Sequence
from datetime import datetime

import attrs
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, TOMBSTONE, TRUNCATE
from ingest.compile.row_model import Append, History, SoftDelete
from ingest.compile.table import CompiledTable
from ingest.moments import moment_or_none
from ingest.names import SchemaId
from ingest.order.batch_counts import BatchCounts
from ingest.order.bookkeeping import older_position_sql, position_of
from ingest.order.latest import REJECTED, WRITERS_PER_WORD, word_count
from ingest.order.tombstone_ends import bare_tombstones
from ingest.order.tombstones import bare_sql, has_change_sql
from ingest.order.truncates import find_truncates
from ingest.order.version_values import is_partial_sql
from ingest.spark.planned_queries import Plans
from ingest.sql.template import Sql, literal, sql


def count_batch(latest: DataFrame, compiled: CompiledTable, plans: Plans | None = None) -> BatchCounts:
    """Count a batch in one small Spark job; by `plans`, if it was reduced in one task.

    Applying a truncate takes two more jobs: its position, and the count of older changes.
    """
    counts = _count(latest, compiled, None, plans)
    if compiled.model == History():
        return _with_history(counts, latest, compiled)
    policy = compiled.table.target.truncate
    if TRUNCATE not in counts.ignored or policy != "apply" or compiled.model == Append():
        return counts
    return _count(latest, compiled, _truncated_at(latest, compiled), None)


def _with_history(counts: BatchCounts, latest: DataFrame, compiled: CompiledTable) -> BatchCounts:
    """Add what else ends versions: truncates, and tombstones without their delete; a job for each kind."""
    if TRUNCATE in counts.ignored and compiled.table.target.truncate == "apply":
        counts = attrs.evolve(counts, truncates=find_truncates(latest, compiled))
    if TOMBSTONE in counts.ignored and compiled.keyed_tombstones:
        counts = attrs.evolve(counts, bare_tombstones=bare_tombstones(latest, compiled).count())
    return counts


def older_sql(compiled: CompiledTable, truncated_at: str | None) -> Sql:
    """Return a condition that is true for a key's newest change that a truncate deletes."""
    if not truncated_at:
        return sql("false")
    return older_position_sql(compiled, position_of(compiled, sql("newest")), literal(truncated_at))


def _truncated_at(latest: DataFrame, compiled: CompiledTable) -> str:
    truncate = latest.where(F.col("kind") == TRUNCATE)
    return str(truncate.selectExpr(str(position_of(compiled, sql("newest")).alias("at"))).collect()[0]["at"])


def _count(
    latest: DataFrame, compiled: CompiledTable, truncated_at: str | None, plans: Plans | None
) -> BatchCounts:
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
        soft_deletes_needing_stored_values=_sum(
            _soft_deletes(compiled, changes), "rows_needing_stored_values"
        ),
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
    older = older_sql(compiled, truncated_at)
    is_older = sql("kind = {change} and {older}", change=literal(CHANGE), older=older)
    has_change = sql("kind = {change} and {has}", change=literal(CHANGE), has=has_change_sql(compiled))
    is_change = sql("kind = {change}", change=literal(CHANGE))
    bare = bare_sql(compiled)
    is_deleted = sql("false") if compiled.model == Append() else sql("newest.op = 'd' or {bare}", bare=bare)
    partial = compiled.may_be_partial
    needing = sql("base is null and later is not null") if partial else sql("false")
    partials = sql("if(later is null, 0L, cast(size(later) as bigint))") if partial else sql("0L")
    if compiled.model == History():
        partials = sql("if({each} and {lacks}, 1L, 0L)", each=is_change, lacks=is_partial_sql(compiled))
    return latest.groupBy(
        "kind",
        F.expr(str(is_deleted)).alias("deletes"),
        F.expr(str(is_older)).alias("older"),
        F.expr(str(bare)).alias("bare"),
        F.expr(str(has_change)).alias("has_change"),
    ).agg(
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


def _soft_deletes(compiled: CompiledTable, changes: Sequence[Row]) -> list[Row]:
    """Return the changes that mark a row as deleted: deletes, and changes older than a truncate."""
    if compiled.model != SoftDelete():
        return []
    return [*_where(changes, deletes=True), *_where(changes, deletes=False, older=True)]


def _sum(groups: Sequence[Row], column: str) -> int:
    return sum(group[column] for group in groups)


def _newest(groups: Sequence[Row]) -> datetime | None:
    times_ms = (group.source_ms for group in groups if group.source_ms is not None)
    return moment_or_none(max(times_ms, default=None))


def _ignored(groups: Sequence[Row], over_changes: int) -> dict[str, int]:
    """Count the messages that change no row, by kind; a bare tombstone deletes the row of a change."""
    tombstones = _sum([group for group in groups if group.kind == CHANGE], "tombstones") - over_changes
    kinds = {group.kind: group.messages for group in groups if group.kind not in (CHANGE, REJECTED)}
    return {**kinds, **({TOMBSTONE: tombstones} if tombstones else {})}


def _seen(rows: Sequence[Row], words: Sequence[str], schema_ids: Sequence[SchemaId]) -> tuple[SchemaId, ...]:
    bits = 0
    for row in rows:
        for index, word in enumerate(words):
            bits |= (row[word] or 0) << (index * WRITERS_PER_WORD)
    return tuple(schema_id for number, schema_id in enumerate(schema_ids) if bits >> number & 1)
