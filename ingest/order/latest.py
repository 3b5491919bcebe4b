"""The fold: one row a key, the newest, and beside those one row for whatever was only counted.

One shuffle gives all that a run needs to know: the rows to write, how many messages stand behind them, which
schemas wrote them, and the place of every rejected record.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import attrs
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ingest.compile.evolve import Evolution
from ingest.compile.position import position_sql
from ingest.compile.sparktype import SparkType, has_map, quote
from ingest.compile.table import CompiledTable
from ingest.names import SchemaId

_IDS_PER_WORD = 62
"""Schema ids that one 64-bit set holds, by their place in the compiled table."""

# Compared from the left: two places are never equal within a partition.
_NEWEST = "struct(place, op, source_ms, schema_id, partition, offset, row)"

CHANGE = "change"
REJECTED = "rejected"


@attrs.frozen
class Tally:
    """What a range held.  `read` is the sum of all the others."""

    upserted: int = 0
    deleted: int = 0
    superseded: int = 0
    ignored: dict[str, int] = attrs.Factory(dict)
    rejected: int = 0
    schema_ids: tuple[SchemaId, ...] = ()
    max_source_ts: datetime | None = None

    @property
    def read(self) -> int:
        """Messages read from the range."""
        changes = self.upserted + self.deleted + self.superseded
        return changes + sum(self.ignored.values()) + self.rejected

    def counters(self) -> dict[str, int]:
        """Return the numbers as they are kept in a commit."""
        ignored = {f"ignored.{kind}": count for kind, count in self.ignored.items()}
        return {
            "read": self.read,
            "upserted": self.upserted,
            "deleted": self.deleted,
            "superseded": self.superseded,
            **ignored,
        }


def fold(events: DataFrame, compiled: CompiledTable) -> DataFrame:
    """Keep the newest change of each key.

    Returned: `kind`, the key columns `k_<i>`, `newest` (struct: place, op, …, row), `messages` (how many the
    row stands for), `source_ms` (the newest source time), `seen_<i>` (sets of schema ids).  Kinds other than
    `change` have one row each, but every rejected record keeps its own.
    """
    keys = [f"k.{quote(name)}" for name, _ in compiled.key_columns]
    change = f"kind = '{CHANGE}' and not rejected"
    sorted_out = events.selectExpr(
        f"if(rejected, '{REJECTED}', kind) as kind",
        *(f"if({change}, {key}, null) as k_{i}" for i, key in enumerate(keys)),
        "if(rejected, partition, null) as reject_partition",
        "if(rejected, offset, null) as reject_offset",
        f"{_NEWEST} as newest",
        "source_ms",
        *(f"{word} as seen_{i}" for i, word in enumerate(_words(compiled.schema_ids))),
    )
    groups = ["kind", *(f"k_{i}" for i in range(len(keys))), "reject_partition", "reject_offset"]
    newest = F.max_by("newest", "newest.place") if _holds_map(compiled) else F.max("newest")
    return sorted_out.groupBy(*groups).agg(
        newest.alias("newest"),
        F.count(F.lit(1)).alias("messages"),
        F.max("source_ms").alias("source_ms"),
        *(F.bit_or(f"seen_{i}").alias(f"seen_{i}") for i in range(_word_count(compiled.schema_ids))),
    )


def tally(folded: DataFrame, compiled: CompiledTable) -> Tally:
    """Count what a folded range holds: one small Spark job over a frame that should be persisted."""
    words = [f"seen_{i}" for i in range(_word_count(compiled.schema_ids))]
    rows = (
        folded.groupBy("kind", (F.col("newest.op") == "d").alias("deletes"))
        .agg(
            F.count(F.lit(1)).alias("rows"),
            F.sum("messages").alias("messages"),
            F.max("source_ms").alias("source_ms"),
            *(F.bit_or(word).alias(word) for word in words),
        )
        .collect()
    )
    changes = [row for row in rows if row.kind == CHANGE]
    newest_ms = max((row.source_ms for row in changes if row.source_ms is not None), default=None)
    return Tally(
        upserted=sum(row.rows for row in changes if not row.deletes),
        deleted=sum(row.rows for row in changes if row.deletes),
        superseded=sum(row.messages - row.rows for row in changes),
        ignored={row.kind: row.messages for row in rows if row.kind not in (CHANGE, REJECTED)},
        rejected=sum(row.rows for row in rows if row.kind == REJECTED),
        schema_ids=_seen(rows, words, compiled.schema_ids),
        max_source_ts=None if newest_ms is None else _instant(newest_ms),
    )


def settle(folded: DataFrame, compiled: CompiledTable, evolution: Evolution) -> DataFrame:
    """Return the rows to write: the `_cdc_` columns, then key and row columns by their own names.

    The `_cdc_` columns come first, so that columns added later stay behind those from the start.
    A delete has its key, and nulls.  Keys are never null here; the alternative in `coalesce` only tells Spark
    so, and with it the table's schema.
    """
    keys = [
        f"coalesce(cast(k_{index} as {column.spark}), {_some_value(column.spark)}) as {quote(column.name)}"
        for index, column in enumerate(evolution.keys)
    ]
    return folded.where(f"kind = '{CHANGE}'").selectExpr(
        "newest.op as _cdc_op",
        f"{position_sql(compiled.dialect, compiled.table.epoch, 'newest.place')} as _cdc_position",
        "timestamp_millis(newest.source_ms) as _cdc_source_ts",
        "newest.schema_id as _cdc_schema_id",
        "newest.partition as _cdc_partition",
        "newest.offset as _cdc_offset",
        *keys,
        *(f"{column.value('newest.row')} as {quote(column.name)}" for column in evolution.columns),
    )


def rejected(folded: DataFrame) -> DataFrame:
    """Return the places of the messages that were set aside: `partition, offset`."""
    return folded.where(f"kind = '{REJECTED}'").selectExpr(
        "reject_partition as partition", "reject_offset as offset"
    )


def _some_value(kind: SparkType) -> str:
    match str(kind):
        case "date" | "timestamp" | "timestamp_ntz" as moment:
            return f"{moment}'1970-01-01'"
        case "string" | "binary" as text:
            return f"cast('' as {text})"
        case number:
            return f"cast(0 as {number})"


def _holds_map(compiled: CompiledTable) -> bool:
    return any(has_map(variant.mapped.spark) for variant in compiled.value.variants)


def _word_count(schema_ids: Sequence[SchemaId]) -> int:
    return -(-len(schema_ids) // _IDS_PER_WORD)


def _words(schema_ids: Sequence[SchemaId]) -> list[str]:
    """Return SQL for each word of the set that holds one id: a bit at the id's place."""
    words = []
    for start in range(0, len(schema_ids), _IDS_PER_WORD):
        chunk = schema_ids[start : start + _IDS_PER_WORD]
        branches = " ".join(f"when {one} then {1 << place}L" for place, one in enumerate(chunk))
        words.append(f"case schema_id {branches} else 0L end")
    return words


def _seen(rows: Sequence[Row], words: Sequence[str], schema_ids: Sequence[SchemaId]) -> tuple[SchemaId, ...]:
    bits = 0
    for row in rows:
        for index, word in enumerate(words):
            bits |= (row[word] or 0) << (index * _IDS_PER_WORD)
    return tuple(one for place, one in enumerate(schema_ids) if bits >> place & 1)


def _instant(millis: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)
