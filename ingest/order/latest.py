"""The newest change of each key, in one shuffle or in one task, together with everything to count.

The result has the rows to write, the number of messages behind each, the schemas that wrote them, and the
coordinates of every rejected message.
"""

import json
from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, TOMBSTONE, TRUNCATE
from ingest.compile.table import CompiledTable
from ingest.order.tombstones import tombstone_counters
from ingest.spark.java import java_rows, jvm_of, select_expr
from ingest.sql.template import Sql, ident, join, literal, sql

REJECTED: Final = "rejected"

WRITERS_PER_WORD: Final = 62
"""The number of schemas in one 64-bit set, each by its index in the compiled table."""

_EACH: Final = join(", ", map(literal, (CHANGE, TOMBSTONE, TRUNCATE)))
_EVENT: Final = ("sort_key", "partition", "op", "source_ms", "writer", "offset", "row")
_EVENT_STRUCT: Final = sql("struct({fields})", fields=join(", ", map(ident, _EVENT)))
_ORDERED: Final = 2
"""How many of these, from the left, order the events of a key.  Within a partition the sort key suffices."""
_EVENTS_PER_TASK: Final = 1_000_000
"""Progress shows a task when it has ended."""


def latest_by_key(events: DataFrame, compiled: CompiledTable, span: int = 0) -> DataFrame:
    """Keep the newest change of each key.  `span` is the number of events at most, as far as it is known.

    Columns: `kind`, the key columns `k_<i>`, `newest` (struct: sort_key, op, …, row), `messages` (their
    number), `bytes` (their size), `source_ms` (newest source time), `seen_<i>` (sets of writers).  Kinds
    other than `change` have one row each, except that every rejected message has its own.

    A key's tombstones are in its row, see `ingest.order.tombstones`.  Without changes one is its `newest`.

    If rows may be partial: `later`, the partial changes up to `newest`, in order, or null if `newest` is
    whole, and `base`, the whole row before them, or null if these events contain no such row.

    The messages are read and shuffled immediately.  Evaluating the result again reads the files of the
    shuffle: in measurements that takes half the time of caching the rows.
    """
    return as_changes(_reduce(_grouped(events, compiled), compiled, span // _EVENTS_PER_TASK), compiled)


def _grouped(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return events with the columns of their groups first, as the JVM reduces them."""
    values = {name: value for name, (value, _) in _counters(compiled).items()}
    return select_expr(
        events, *_named(_groups(compiled)), *_EVENT, *_named(values), *_named(_partial_columns(compiled))
    )


def sorted_events(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Sort few events by their groups, in one partition, as `reduce_few` takes them."""
    latest = jvm_of(events.sparkSession).io.hudicdc.ingest.latest.LatestByKey
    rows, columns = _grouped(events, compiled), len(_groups(compiled)) + _ORDERED
    return DataFrame(latest.sorted(java_rows(rows), columns), rows.sparkSession)


def reduce_few(rows: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Keep the newest of the sorted events of each group, in one task.

    Nothing is shuffled: the first evaluation reads the messages, and keeps the result for the others.  The
    result has the columns of the sorted events: `as_changes` gives it the columns of `latest_by_key`.
    """
    return _reduce(rows, compiled)


def _reduce(rows: DataFrame, compiled: CompiledTable, *tasks: int) -> DataFrame:
    """Reduce in one task, or after a shuffle in at least so many `tasks`."""
    groups = _groups(compiled)
    combine = json.dumps({name: how for name, (_, how) in _counters(compiled).items()})
    latest = jvm_of(rows.sparkSession).io.hudicdc.ingest.latest.LatestByKey
    of, with_partial = latest.ofFew, latest.withPartialOfFew
    if tasks:
        of, with_partial = latest.of, latest.withPartial
    if compiled.may_be_partial:
        reduced = with_partial(java_rows(rows), len(groups), _ORDERED, len(_EVENT), combine, *tasks)
    else:
        reduced = of(java_rows(rows), len(groups), _ORDERED, combine, *tasks)
    return DataFrame(reduced, rows.sparkSession)


def as_changes(reduced: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Return reduced rows with the columns of `latest_by_key`."""
    names = [name for name in _counters(compiled) if name != "newest_ms"]
    return select_expr(
        reduced,
        *_groups(compiled),
        str(_EVENT_STRUCT.alias("newest")),
        "newest_ms as source_ms",
        *names,
        *_named(_completing_columns(compiled)),
    )


def _groups(compiled: CompiledTable) -> dict[str, Sql]:
    """Return the grouping columns, by name.

    Spark sorts by them, and compares the first one fastest: the first is a key column, the most selective.
    """
    keyed = join(", ", map(literal, (CHANGE, TOMBSTONE) if compiled.keyed_tombstones else (CHANGE,)))
    kinds = join(", ", map(literal, (CHANGE, TOMBSTONE) if compiled.merges_tombstones else (CHANGE,)))
    key = sql("if(kind in ({kinds}) and not rejected, {key}, null)", kinds=keyed)
    keys = [sql("k").field(name) for name, _ in compiled.key_columns]
    return {
        **{f"k_{i}": key.of(key=column) for i, column in enumerate(keys)},
        **_coordinates(compiled),
        "kind": sql(
            "if(rejected, {rejected}, if(kind in ({kinds}), {change}, kind))",
            rejected=literal(REJECTED),
            kinds=kinds,
            change=literal(CHANGE),
        ),
        "reject_partition": sql("if(rejected, partition, null)"),
        "reject_offset": sql("if(rejected, offset, null)"),
    }


def _coordinates(compiled: CompiledTable) -> dict[str, Sql]:
    """Return the coordinates of messages if each change is a separate row."""
    if not compiled.model.has_versions:
        return {}
    named = sql("if(kind in ({kinds}) and not rejected, {name}, null)", kinds=_EACH)
    return {f"own_{name}": named.of(name=ident(name)) for name in ("partition", "offset")}


def _counters(compiled: CompiledTable) -> dict[str, tuple[Sql, str]]:
    """Return the name of each counter, its value for one message, and how counters are combined."""
    return {
        "messages": (sql("1L"), "SUM"),
        "bytes": (sql("bytes"), "SUM"),
        "newest_ms": (sql("source_ms"), "MAX"),
        **tombstone_counters(compiled),
        **{f"seen_{i}": (word, "OR") for i, word in enumerate(_words(compiled))},
    }


def _partial_columns(compiled: CompiledTable) -> dict[str, Sql]:
    """Return the columns that the JVM fills if rows are partial: nulls of the right types."""
    if not compiled.may_be_partial:
        return {}
    return {
        "partial": sql("partial"),
        # `if(false, x, null)` is a null of the type of x, without its DDL.
        "base": sql("if(false, {event}, null)", event=_EVENT_STRUCT),
        "later": sql("if(false, array({event}), null)", event=_EVENT_STRUCT),
    }


def _completing_columns(compiled: CompiledTable) -> dict[str, Sql]:
    """Return the columns that complete rows.  A tombstone sorts below all changes, and is not a row."""
    if not compiled.may_be_partial:
        return {}
    base = sql("if(base.op = {tombstone}, null, base)", tombstone=literal(TOMBSTONE))
    return {"base": base, "later": sql("later")}


def _named(columns: Mapping[str, Sql]) -> list[str]:
    return [str(expression.alias(name)) for name, expression in columns.items()]


def rejected(changes: DataFrame) -> DataFrame:
    """Return the coordinates of the rejected messages: `partition, offset`."""
    return changes.where(F.col("kind") == REJECTED).selectExpr(
        "reject_partition as partition", "reject_offset as offset"
    )


def word_count(compiled: CompiledTable) -> int:
    """Return the number of 64-bit words in a set of writers."""
    return -(-len(compiled.value.writers) // WRITERS_PER_WORD)  # rounded up


def _words(compiled: CompiledTable) -> list[Sql]:
    """Return each word of the set that contains one writer: the bit at its index."""
    starts = [word * WRITERS_PER_WORD for word in range(word_count(compiled))]
    return [
        sql(
            "if(writer between {start} and {end}, shiftleft(1L, writer - {start}), 0L)",
            start=start,
            end=start + WRITERS_PER_WORD - 1,
        )
        for start in starts
    ]
