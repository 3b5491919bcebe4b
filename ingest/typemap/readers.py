"""Readers of Hudi tables, Spark apart, that a table excludes, as tests/places/test_readers.py measures it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, assert_never

import attrs

from ingest.settings import Reader
from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, SparkType, Struct
from ingest.tables import Target
from ingest.tables.types import Timestamps

HUDI_RS: Final = "hudi-rs 0.5.0"
BY_FILES: Final = ("DuckDB", "Polars")
"""Programs that read the newest base files of a table, which hudi-rs lists."""
TRINO: Final = "Trino 476"
OLD_SPARKS: Final = ("Spark with Hudi 0.15.0", "Spark with Hudi 1.0.2")
DAFT: Final = "Daft"
CLICKHOUSE: Final = "ClickHouse 26.9"
OLDEST: Final = 6
"""The version of the table format that the programs above open."""
_UTC: Final = (
    "columns of type timestamp_ntz; a table created with "
    '[types] timestamps = "utc" has `timestamp` in their place'
)
_WALL_CLOCK: Final = Simple("timestamp_ntz")


@attrs.frozen
class Format:
    """The version of Hudi's table format, and the type of wall clocks."""

    table_version: Literal[6, 8, 9]
    timestamps: Timestamps


FORMATS: Final[Mapping[Reader, Format]] = {
    "any": Format(6, "utc"),
    "spark": Format(9, "ntz"),
    "spark-1.1": Format(9, "ntz"),
    "spark-1.0": Format(6, "utc"),
    "spark-0.15": Format(6, "utc"),
    "trino": Format(6, "ntz"),
    "hudi-rs": Format(9, "utc"),
    "duckdb": Format(9, "utc"),
    "polars": Format(9, "utc"),
    "daft": Format(6, "ntz"),
}
"""The newest format that each reader opens."""


def format_for(readers: Iterable[Reader]) -> Format:
    """Return the newest format that all of some readers open."""
    formats = [FORMATS[reader] for reader in ("spark", *readers)]
    return Format(
        min(needed.table_version for needed in formats),
        "utc" if any(needed.timestamps == "utc" for needed in formats) else "ntz",
    )


def excluded_readers(columns: Collection[tuple[str, SparkType]], target: Target) -> dict[str, str]:
    """Return the readers that a table with these columns excludes, each with the reason.

    Versions later than 6 exclude the readers of this version too.  Only the page of readers says so.
    """
    excluded: dict[str, str] = {}
    if target.type == "mor":
        reason = "they see the rows of a merge-on-read table at its last compaction"
        excluded |= dict.fromkeys((*BY_FILES, TRINO, CLICKHOUSE), reason)
    if not all(name.isascii() for name, _ in columns):
        excluded |= dict.fromkeys((HUDI_RS, *BY_FILES), "it stops at names with other letters than a to z")
    if any(_has_wall_clock(spark_type) for _, spark_type in columns):
        old = OLD_SPARKS if target.table_version == OLDEST else ()
        excluded |= dict.fromkeys((HUDI_RS, *BY_FILES), f"it stops at {_UTC}")
        excluded |= dict.fromkeys(old, f"they stop at, or show as numbers, {_UTC}")
    if target.type == "mor" and target.table_version == OLDEST:
        excluded[DAFT] = "it reads copy-on-write tables only"
    return excluded


def rebuild_caveat(target: Target) -> str:
    """Return the readers that show other rows after a rebuild, or an empty text.

    Daft lists the files of a folder, without the timeline, and opens copy-on-write tables of version 6.
    """
    if target.type == "mor" or target.table_version != OLDEST:
        return ""
    return f"{DAFT} shows the rows from before as well, until later runs have cleaned their files"


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
