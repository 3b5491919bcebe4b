"""The fold: one row a key, the newest, and beside those one row for whatever was only counted.

One shuffle gives all that a run needs to know: the rows to write, how many messages stand behind them, which
schemas wrote them, and the coordinates of every rejected record.
"""

from collections.abc import Mapping
from types import MappingProxyType

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE, TOMBSTONE
from ingest.compile.table import CompiledTable
from ingest.java import java_rows, jvm_of
from ingest.order.tombstones import tombstone_counters
from ingest.typemap.sparktype import has_map
from ingest.typemap.sql import Sql, ident, join, literal, sql

REJECTED = "rejected"

WRITERS_PER_WORD = 62
"""Schemas that one 64-bit set holds, by their number in the compiled table."""

_COUNTS = MappingProxyType({"SUM": F.sum, "MAX": F.max, "OR": F.bit_or})
_EVENT = ("sort_key", "partition", "op", "source_ms", "writer", "offset", "row")
_EVENT_STRUCT = sql("struct({fields})", fields=join(", ", map(ident, _EVENT)))
_ORDER = 2
"""How many of them, from the left, decide which event of a key is newer; in a partition the first does."""


def latest_by_key(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Keep the newest change of each key.

    Returned: `kind`, the key columns `k_<i>`, `newest` (struct: sort_key, op, …, row), `messages` (how many
    the row represents), `bytes` (their size), `source_ms` (the newest source time), `seen_<i>` (sets of
    writers).
    Kinds other than `change` have one row each, but every rejected record keeps its own.

    Where rows are completed there are also `later`, the partial changes that end with `newest`, in order, and
    `base`, the row that they are to be laid over: null where it is not in these events.  Where they are not,
    `partials` counts them.

    A key's tombstones are in its row, see `ingest.order.tombstones`; without changes one is its `newest`.

    What is returned may be looked at several times, and wants to be unpersisted in the end.
    """
    return _complete(events, compiled) if compiled.completes else _newest(events, compiled)


def _newest(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Fold by our own function on the JVM.

    The messages are read and shuffled at once, and a look at the result reads the shuffle's files again:
    measured, that costs half of what holding the rows does.
    """
    groups = _groups(compiled)
    counters = {
        "messages": (sql("1L"), "SUM"),
        "bytes": (sql("bytes"), "SUM"),
        "newest_ms": (sql("source_ms"), "MAX"),
        **({"partials": (sql("if(partial, 1L, 0L)"), "SUM")} if compiled.may_be_partial else {}),
        **tombstone_counters(compiled),
        **{f"seen_{i}": (word, "OR") for i, word in enumerate(_words(compiled))},
    }
    counted = {name: value for name, (value, _) in counters.items()}
    flat = events.selectExpr(*_named(groups), *_EVENT, *_named(counted))
    ways = {name: way for name, (_, way) in counters.items()}
    latest = jvm_of(events.sparkSession).io.hudicdc.ingest.LatestByKey
    folded = latest.of(java_rows(flat), len(groups), _ORDER, ways)
    names = [name for name in counters if name != "newest_ms"]
    return DataFrame(folded, events.sparkSession).selectExpr(
        *groups, str(_EVENT_STRUCT.alias("newest")), "newest_ms as source_ms", *names
    )


def _complete(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Fold by Spark's own functions, since each key's partial changes are to be kept too."""
    groups = _groups(compiled)
    words = {f"seen_{i}": word for i, word in enumerate(_words(compiled))}
    tombstones = tombstone_counters(compiled)
    sorted_out = events.selectExpr(
        *_named(groups),
        "partial",
        str(_EVENT_STRUCT.alias("event")),
        "source_ms",
        "bytes",
        *_named({**words, **{name: value for name, (value, _) in tombstones.items()}}),
    )
    is_tombstone = F.col("event.op") == TOMBSTONE
    whole = F.when(F.col("partial") | is_tombstone, F.lit(None)).otherwise(F.col("event"))
    folded = sorted_out.groupBy(*groups).agg(
        (F.max_by(whole, whole["sort_key"]) if _holds_map(compiled) else F.max(whole)).alias("newest"),
        F.expr("collect_list(if(partial, event, null))").alias("partials"),
        F.first(F.when(is_tombstone, F.col("event")), ignorenulls=True).alias("tombstone"),
        F.count(F.lit(1)).alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.max("source_ms").alias("source_ms"),
        *(F.bit_or(name).alias(name) for name in words),
        *(_COUNTS[way](name).alias(name) for name, (_, way) in tombstones.items()),
    )
    return _with_partials(folded).persist(StorageLevel.MEMORY_AND_DISK)


def _groups(compiled: CompiledTable) -> dict[str, Sql]:
    """Return the columns by which events are combined into one row, by name.

    Spark sorts by them, and by the first one fastest: that is a key column, which tells most apart.
    """
    kinds = join(", ", map(literal, (CHANGE, TOMBSTONE) if compiled.keyed_tombstones else (CHANGE,)))
    key = sql("if(kind in ({kinds}) and not rejected, {key}, null)", kinds=kinds)
    keys = [sql("k").field(name) for name, _ in compiled.key_columns]
    return {
        **{f"k_{i}": key.of(key=column) for i, column in enumerate(keys)},
        "kind": sql(
            "if(rejected, {rejected}, if(kind in ({kinds}), {change}, kind))",
            rejected=literal(REJECTED),
            kinds=kinds,
            change=literal(CHANGE),
        ),
        "reject_partition": sql("if(rejected, partition, null)"),
        "reject_offset": sql("if(rejected, offset, null)"),
    }


def _named(columns: Mapping[str, Sql]) -> list[str]:
    return [str(expression.alias(name)) for name, expression in columns.items()]


def _with_partials(folded: DataFrame) -> DataFrame:
    """Put the partial changes that follow the newest whole one in order, and the last of them on top.

    A key without changes has one of its tombstones.
    """
    kept = [column for column in folded.columns if column not in ("newest", "partials", "tombstone")]
    sorted_in = folded.select(
        *kept,
        "newest",
        "tombstone",
        F.expr(_LATER).alias("later"),
    )
    return sorted_in.selectExpr(
        *kept,
        "coalesce(if(size(later) = 0, newest, element_at(later, -1)), tombstone) as newest",
        "if(size(later) = 0, null, newest) as base",
        "later",
    )


_LATER = (
    "if(size(partials) = 0, partials, array_sort("
    "filter(partials, e -> newest is null or e.sort_key > newest.sort_key), (a, b) -> "
    "case when a.sort_key < b.sort_key then -1 when a.sort_key > b.sort_key then 1 else 0 end))"
)


def rejected(folded: DataFrame) -> DataFrame:
    """Return the coordinates of the rejected messages: `partition, offset`."""
    return folded.where(F.col("kind") == REJECTED).selectExpr(
        "reject_partition as partition", "reject_offset as offset"
    )


def _holds_map(compiled: CompiledTable) -> bool:
    return any(has_map(column_version.mapped.spark) for column_version in compiled.value.column_versions)


def word_count(compiled: CompiledTable) -> int:
    """Return how many words the set of writers takes."""
    return -(-len(compiled.value.writers) // WRITERS_PER_WORD)


def _words(compiled: CompiledTable) -> list[Sql]:
    """Return each word of the set that holds one writer: a bit at its number."""
    starts = [word * WRITERS_PER_WORD for word in range(word_count(compiled))]
    return [
        sql(
            "if(writer between {start} and {end}, shiftleft(1L, writer - {start}), 0L)",
            start=start,
            end=start + WRITERS_PER_WORD - 1,
        )
        for start in starts
    ]
