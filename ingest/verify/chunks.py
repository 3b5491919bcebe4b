"""Chunks of a table: ranges of its first key column, or buckets of a hash of it."""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.sources.layout import Layout
from ingest.sql.template import Sql, ident, join, sql

MOST: Final = 10_000
"""Chunks at most: a billion rows of 100,000 a chunk."""
_ACCURACY: Final = 10
"""The inverse of a bound's largest error, in chunks."""
_SAMPLES: Final = 1_000
"""Keys of a chunk that give the bounds."""


@attrs.frozen
class Ranges:
    """Ranges between bounds. The first and the last one are open, and a bound belongs to the upper range."""

    bounds: tuple[int, ...]

    @property
    def count(self) -> int:
        """The number of ranges."""
        return len(self.bounds) + 1

    def condition(self, chunk: int, column: Sql) -> Sql:
        """Return the condition of a chunk's rows."""
        low = [
            sql("{c} >= {bound}", c=column, bound=bound) for bound in self.bounds[chunk - 1 : chunk] if chunk
        ]
        high = [sql("{c} < {bound}", c=column, bound=bound) for bound in self.bounds[chunk : chunk + 1]]
        return join(" and ", [*low, *high]) if low or high else sql("1 = 1")

    def chunk_of(self, column: Sql) -> Sql:
        """Return a row's chunk in the lake."""
        bounds = join(", ", [sql("{bound}L", bound=bound) for bound in self.bounds])
        if not self.bounds:
            return sql("0")
        return sql("ingest_range(cast({c} as bigint), array({bounds}))", c=column, bounds=bounds)


def chunk_count(rows: int, chunk_rows: int) -> int:
    """Return the number of chunks for a number of rows."""
    return max(1, min(MOST, -(-rows // chunk_rows)))


def key_ranges(rows: DataFrame, layout: Layout, total: int, chunks: int) -> Ranges:
    """Return ranges of about equally many rows in the lake, estimated from a sample of all keys."""
    if chunks == 1:
        return Ranges(())
    key = sql("cast({key} as bigint)", key=ident(layout.keys[0].name))
    share = max(1, total // chunks // _SAMPLES)
    sampled = rows.where(str(sql("xxhash64({key}) % {share} = 0", key=key, share=share)))
    shares = [index / chunks for index in range(1, chunks)]
    bounds = F.percentile_approx(F.expr(str(key)), shares, _ACCURACY * chunks)
    (row,) = sampled.agg(bounds.alias("bounds")).collect()
    return Ranges(tuple(sorted(set(row.bounds or ()))))


def in_list(column: Sql, values: Sequence[Sql]) -> Sql:
    """Return the condition that a column has one of the values."""
    return sql("{c} in ({values})", c=column, values=join(", ", values))
