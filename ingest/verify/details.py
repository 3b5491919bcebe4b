"""The rows that differ, in detail: how many values of each column, and the first keys."""

from typing import Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ingest.sources.layout import Layout
from ingest.verify.result import RowDifference

_CHANGED: Final = "different"


def count_columns(layout: Layout, rows: DataFrame) -> dict[str, int]:
    """Return the number of different values by column, in rows that both sides have."""
    if not layout.columns:
        return {}
    differs = [
        F.count_if(~F.col(f"s_c{i}").eqNullSafe(F.col(f"t_c{i}"))).alias(f"c{i}")
        for i in range(len(layout.columns))
    ]
    (counts,) = rows.where(F.col("kind") == _CHANGED).agg(*differs).collect()
    return {column.name: counts[f"c{i}"] for i, column in enumerate(layout.columns) if counts[f"c{i}"]}


def first_rows(
    layout: Layout, rows: DataFrame, limit: int, *, shows_values: bool
) -> tuple[RowDifference, ...]:
    """Return the first rows that differ, by their keys."""
    order = [F.col("k0").cast("bigint") if layout.has_ranges else F.col("k0")]
    order += [F.col(name) for name in layout.key_names()[1:]]
    return tuple(
        _row_difference(layout, row, shows_values=shows_values)
        for row in rows.orderBy(*order).limit(limit).collect()
    )


def _row_difference(layout: Layout, row: Row, *, shows_values: bool) -> RowDifference:
    key = {column.name: row[f"k{i}"] for i, column in enumerate(layout.keys)}
    source = {column.name: row[f"s_c{i}"] for i, column in enumerate(layout.columns)}
    table = {column.name: row[f"t_c{i}"] for i, column in enumerate(layout.columns)}
    columns = tuple(name for name in source if source[name] != table[name]) if row.kind == _CHANGED else ()
    if not shows_values:
        return RowDifference(key, row.kind, columns)
    names = columns or tuple(source)
    return RowDifference(
        key,
        row.kind,
        columns,
        {name: source[name] for name in names} if row.kind != "extra" else {},
        {name: table[name] for name in names} if row.kind != "missing" else {},
    )
