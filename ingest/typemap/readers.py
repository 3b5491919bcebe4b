"""What the readers of Hudi tables, Spark apart, do not show, as tests/places/test_readers.py measures it."""

from collections.abc import Collection, Iterable, Mapping
from typing import Final, Literal, assert_never

import attrs

from ingest.sql.types import ArrayOf, Decimal, MapOf, Simple, SparkType, Struct
from ingest.tables import Reader, Target
from ingest.tables.types import Timestamps

PROGRAMS: Final[Mapping[Reader, str]] = {
    "spark": "Spark",
    "spark-1.1": "Spark with Hudi 1.1.1",
    "spark-1.0": "Spark with Hudi 1.0.2",
    "spark-0.15": "Spark with Hudi 0.15.0",
    "trino": "Trino 476",
    "hive": "Hive 2.3.9",
    "hudi-rs": "hudi-rs 0.5.0",
    "duckdb": "DuckDB",
    "polars": "Polars",
    "daft": "Daft",
    "clickhouse": "ClickHouse 26.9",
    "athena": "Amazon Athena",
}
BY_FILES: Final[tuple[Reader, ...]] = ("duckdb", "polars")
"""Programs that read the newest base files of a table, which hudi-rs lists."""
_BY_FOLDER: Final[tuple[Reader, ...]] = ("daft", "clickhouse")
"""Programs that list the files of a folder, without the timeline."""
_IN_LATER_VERSIONS: Final[frozenset[Reader]] = frozenset({"trino", "clickhouse"})
"""Programs that also open versions later than the one that they need, under conditions."""
OLDEST: Final = 6
"""The version of the table format that all of them open."""
OTHER_ROWS: Final[Mapping[Reader, str]] = {
    "hive": "cuts timestamps to milliseconds and counts dates before 1582 in the Julian calendar",
    "daft": "shows the rows of a commit that has not completed",
    "clickhouse": "shows the rows of a commit that has not completed, other values after a column was "
    "widened, and an empty array, map or struct for null",
}
"""What a reader shows otherwise, without an error, in tables that it opens."""
IN_PARTITIONS: Final[Mapping[Reader, str]] = dict.fromkeys(
    ("trino", "hive"),
    "takes the values of partition columns from the names of folders, which differ for null and for signs",
)
"""The same, in tables with partitions."""
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
    "spark-1.0": Format(8, "utc"),
    "spark-0.15": Format(6, "utc"),
    "trino": Format(6, "ntz"),
    "hive": Format(9, "utc"),
    "hudi-rs": Format(9, "utc"),
    "duckdb": Format(9, "utc"),
    "polars": Format(9, "utc"),
    "daft": Format(6, "ntz"),
    "clickhouse": Format(6, "ntz"),
    "athena": Format(6, "utc"),
}
"""The newest format that each reader opens.  Athena supports Hudi up to 0.15.0, by its documentation."""


def format_for(readers: Iterable[Reader]) -> Format:
    """Return the newest format that all of some readers open."""
    formats = [FORMATS[reader] for reader in ("spark", *readers)]
    return Format(
        min(needed.table_version for needed in formats),
        "utc" if any(needed.timestamps == "utc" for needed in formats) else "ntz",
    )


def reader_caveats(columns: Collection[tuple[str, SparkType]], target: Target) -> list[str]:
    """Return what readers do not show of a table with these columns, a text for each reason.

    If the table names its readers, these are meant.  If it names none, only excluded ones have a text.
    """
    excluded = excluded_readers(columns, target)
    readers_by_reason: dict[str, list[str]] = {}
    for reader, reason in excluded.items():
        readers_by_reason.setdefault(reason, []).append(PROGRAMS[reader])
    refused = [f"not for {', '.join(readers)}: {reason}" for reason, readers in readers_by_reason.items()]
    others = (OTHER_ROWS, IN_PARTITIONS) if target.partition_by else (OTHER_ROWS,)
    named = [reader for reader in _named(target) if reader not in excluded] if target.readers else ()
    shown = (f"{PROGRAMS[reader]} {texts[reader]}" for texts in others for reader in named if reader in texts)
    return [*refused, *shown]


def excluded_readers(columns: Collection[tuple[str, SparkType]], target: Target) -> dict[Reader, str]:
    """Return the readers that a table with these columns excludes, each with the reason.

    Considers the readers that the table names or, if it names none, all that open its version.
    """
    excluded: dict[Reader, str] = {}
    if target.type == "mor":
        reason = "they see the rows of a merge-on-read table at its last compaction"
        excluded |= dict.fromkeys((*BY_FILES, "trino", "clickhouse"), reason)
    if not all(name.isascii() for name, _ in columns):
        reason = "it stops at names with other letters than a to z"
        excluded |= dict.fromkeys(("hudi-rs", *BY_FILES), reason)
    if any(_has_wall_clock(spark_type) for _, spark_type in columns):
        excluded |= dict.fromkeys(("hudi-rs", *BY_FILES, "hive"), f"it stops at {_UTC}")
        reason = f"they stop at, or show as numbers, {_UTC}"
        excluded |= dict.fromkeys(("spark-0.15", "spark-1.0"), reason)
    if target.type == "mor":
        excluded["daft"] = "it reads copy-on-write tables only"
    unopened = {
        reader: f"it needs [target] table_version = {FORMATS[reader].table_version}"
        for reader in PROGRAMS
        if FORMATS[reader].table_version < target.table_version
    }
    if not target.readers:
        hidden = unopened.keys() - _IN_LATER_VERSIONS
        return {reader: reason for reader, reason in excluded.items() if reader not in hidden}
    named = _named(target)
    return {reader: reason for reader, reason in (excluded | unopened).items() if reader in named}


def rebuild_caveat(target: Target) -> str:
    """Return the readers that show other rows after a rebuild, or an empty text.

    These list the files of a folder, without the timeline.  Both read copy-on-write tables only, and Daft
    those of version 6.
    """
    readers = [
        PROGRAMS[reader]
        for reader in _BY_FOLDER
        if reader in _named(target) and (reader != "daft" or target.table_version == OLDEST)
    ]
    if target.type == "mor" or not readers:
        return ""
    shown = f"{' and '.join(readers)} {'show' if readers[1:] else 'shows'} the rows from before as well"
    return f"{shown}, until later runs have cleaned their files"


def _named(target: Target) -> Collection[Reader]:
    """Return the readers that a table names, or all."""
    return PROGRAMS.keys() if not target.readers or "any" in target.readers else target.readers


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
