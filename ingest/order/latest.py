"""The fold: one row a key, the newest, and beside those one row for whatever was only counted.

One shuffle gives all that a run needs to know: the rows to write, how many messages stand behind them, which
schemas wrote them, and the place of every rejected record.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ingest.compile.event import CHANGE
from ingest.compile.sparktype import has_map, quote
from ingest.compile.table import CompiledTable

REJECTED = "rejected"

WRITERS_PER_WORD = 62
"""Schemas that one 64-bit set holds, by their number in the compiled table."""

# Compared from the left: two places are never equal within a partition.
_EVENT = "struct(place, op, source_ms, writer, partition, offset, row)"


def fold(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Keep the newest change of each key.

    Returned: `kind`, the key columns `k_<i>`, `newest` (struct: place, op, …, row), `messages` (how many the
    row stands for), `bytes` (their size), `source_ms` (the newest source time), `seen_<i>` (sets of writers).
    Kinds other than `change` have one row each, but every rejected record keeps its own.

    Where rows are completed there are also `later`, the partial changes that end with `newest`, in order, and
    `base`, the row that they are to be laid over: null where it is not in these events.  Where they are not,
    `partials` counts them.
    """
    keys = [f"k.{quote(name)}" for name, _ in compiled.key_columns]
    change = f"kind = '{CHANGE}' and not rejected"
    partial = compiled.completes
    counted = compiled.may_be_partial and not partial
    sorted_out = events.selectExpr(
        f"if(rejected, '{REJECTED}', kind) as kind",
        *(f"if({change}, {key}, null) as k_{i}" for i, key in enumerate(keys)),
        "if(rejected, partition, null) as reject_partition",
        "if(rejected, offset, null) as reject_offset",
        *(["partial"] if compiled.may_be_partial else []),
        f"{_EVENT} as event",
        "source_ms",
        "bytes",
        *(f"{word} as seen_{i}" for i, word in enumerate(_words(compiled))),
    )
    groups = ["kind", *(f"k_{i}" for i in range(len(keys))), "reject_partition", "reject_offset"]
    folded = sorted_out.groupBy(*groups).agg(
        _newest(compiled, "if(partial, null, event)" if partial else "event").alias("newest"),
        *([F.expr("collect_list(if(partial, event, null))").alias("partials")] if partial else []),
        *([F.expr("count_if(partial)").alias("partials")] if counted else []),
        F.count(F.lit(1)).alias("messages"),
        F.sum("bytes").alias("bytes"),
        F.max("source_ms").alias("source_ms"),
        *(F.bit_or(f"seen_{i}").alias(f"seen_{i}") for i in range(word_count(compiled))),
    )
    return _with_partials(folded) if partial else folded


def _newest(compiled: CompiledTable, event: str) -> Column:
    whole = F.expr(event)
    return F.max_by(whole, whole["place"]) if _holds_map(compiled) else F.max(whole)


def _with_partials(folded: DataFrame) -> DataFrame:
    """Put the partial changes that follow the newest whole one in order, and the last of them on top."""
    later = "filter(partials, e -> newest is null or e.place > newest.place)"
    by_place = "(a, b) -> case when a.place < b.place then -1 when a.place > b.place then 1 else 0 end"
    kept = [column for column in folded.columns if column not in ("newest", "partials")]
    sorted_in = folded.select(
        *kept,
        "newest",
        F.expr(f"if(size(partials) = 0, partials, array_sort({later}, {by_place}))").alias("later"),
    )
    return sorted_in.selectExpr(
        *kept,
        "if(size(later) = 0, newest, element_at(later, -1)) as newest",
        "if(size(later) = 0, null, newest) as base",
        "later",
    )


def rejected(folded: DataFrame) -> DataFrame:
    """Return the places of the messages that were set aside: `partition, offset`."""
    return folded.where(f"kind = '{REJECTED}'").selectExpr(
        "reject_partition as partition", "reject_offset as offset"
    )


def _holds_map(compiled: CompiledTable) -> bool:
    return any(has_map(variant.mapped.spark) for variant in compiled.value.variants)


def word_count(compiled: CompiledTable) -> int:
    """Return how many words the set of writers takes."""
    return -(-len(compiled.value.writers) // WRITERS_PER_WORD)


def _words(compiled: CompiledTable) -> list[str]:
    """Return SQL for each word of the set that holds one writer: a bit at its number."""
    starts = [word * WRITERS_PER_WORD for word in range(word_count(compiled))]
    return [
        f"if(writer between {start} and {start + WRITERS_PER_WORD - 1}, shiftleft(1L, writer - {start}), 0L)"
        for start in starts
    ]
