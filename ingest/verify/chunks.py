"""Chunks of a table: ranges of its first key column, or buckets of a hash of it."""

from collections.abc import Sequence
from typing import Final

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.typemap.sql import Sql, ident, join, sql
from ingest.verify.layout import Layout

MOST: Final = 10_000
"""Chunks at most: a billion rows of 100,000 a chunk."""
_ACCURACY: Final = 10 * MOST
_SAMPLED: Final = 8
"""One key of so many gives the bounds: 2,000,000 keys take a second."""


@attrs.frozen
class Ranges:
    """Ranges between bounds, the first and the last one open; a bound is in the upper range."""

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


def count_with_quantiles(rows: DataFrame, layout: Layout) -> tuple[int, tuple[int, ...]]:
    """Return the number of the lake's rows, and the bounds between `MOST` shares of a sample of its keys."""
    column = F.expr(str(ident(layout.keys[0].name))).cast("bigint")
    shares = [index / MOST for index in range(1, MOST)]
    column = F.when(F.xxhash64(column) % _SAMPLED == 0, column)  # null does not count
    quantiles = F.percentile_approx(column, shares, _ACCURACY)
    (row,) = rows.agg(F.count("*").alias("rows"), quantiles.alias("bounds")).collect()
    return row.rows, tuple(row.bounds or ())


def key_ranges(quantiles: Sequence[int], chunks: int) -> Ranges:
    """Return ranges with about as many of the lake's rows each, from the bounds of `MOST` shares."""
    if not quantiles:
        return Ranges(())
    bounds = {quantiles[round(index * MOST / chunks) - 1] for index in range(1, chunks)}
    return Ranges(tuple(sorted(bounds)))


def in_list(column: Sql, values: Sequence[Sql]) -> Sql:
    """Return the condition that a column has one of the values."""
    return sql("{c} in ({values})", c=column, values=join(", ", values))
