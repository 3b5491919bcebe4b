"""Buckets that have outgrown themselves: a copy-on-write commit rewrites every file that it touches."""

from typing import Final

from ingest.tables import TableConfig

LIMIT_BYTES: Final = 512_000_000
"""From this size of a bucket's file, `ingest status` warns."""
_GOAL_BYTES: Final = 128_000_000
"""The size that the advised number of buckets gives: Parquet's own unit of reading, a row group."""
_MOST: Final = 4096
_MEGABYTE: Final = 1_000_000


def bucket_warning(table: TableConfig, largest_bytes: int) -> str:
    """Return the advice for a table whose largest base file has this size; empty where it is small enough."""
    buckets = table.target.buckets
    if table.target.index != "bucket" or largest_bytes < LIMIT_BYTES or buckets >= _MOST:
        return ""
    advised = buckets
    while advised < _MOST and largest_bytes * buckets > _GOAL_BYTES * advised:
        advised *= 2
    return (
        f"a bucket has grown to {largest_bytes / _MEGABYTE:,.0f} MB, which each commit may rewrite: set "
        f"[target] buckets = {min(advised, _MOST)} in place of {buckets}, then `ingest rebuild {table.name}`"
    )
