"""Readers of Hudi tables, Spark apart, that a table excludes, as tests/places/test_readers.py measures it."""

from collections.abc import Iterable
from typing import Final, assert_never

from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, SparkType, Struct

HUDI_RS: Final = "hudi-rs 0.5.0"
BY_FILES: Final = ("DuckDB", "Polars")
"""Programs that read the newest base files of a table, which hudi-rs lists."""
_WALL_CLOCK: Final = Simple("timestamp_ntz")


def excluded_readers(types: Iterable[SparkType], table_type: str) -> dict[str, str]:
    """Return the readers that a table with columns of these types excludes, each with the reason."""
    if any(map(_has_wall_clock, types)):
        reason = (
            "it stops at columns of type timestamp_ntz; a table created with "
            '[types] timestamps = "utc" has `timestamp` in their place'
        )
        return dict.fromkeys((HUDI_RS, *BY_FILES), reason)
    if table_type == "mor":
        return dict.fromkeys(BY_FILES, "they see the rows of a merge-on-read table at its last compaction")
    return {}


def _has_wall_clock(spark_type: SparkType) -> bool:
    match spark_type:
        case Simple():
            return spark_type == _WALL_CLOCK
        case Decimal():
            return False
        case ArrayOf(inner) | MapOf(inner):
            return _has_wall_clock(inner)
        case Struct(fields):
            return any(_has_wall_clock(inner) for _, inner in fields)
        case _:
            assert_never(spark_type)
