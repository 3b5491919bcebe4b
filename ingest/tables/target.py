"""The Hudi table that a table file describes."""

from typing import Literal

import attrs

from ingest.config.rules import AtLeast, Between
from ingest.tables.rules import check_column_names

Reader = Literal[
    "any", "spark", "spark-1.1", "spark-1.0", "spark-0.15", "trino", "hive",
    "hudi-rs", "duckdb", "polars", "daft", "clickhouse", "athena",
]  # fmt: skip
"""The readers of tables, and all of them.  Those of Spark have the version of Hudi.

All were tested, but for Athena, which stands for its documentation.
"""


@attrs.frozen
class Target:
    """The Hudi table.

    Only `also`, `compact_at`, `delete`, `first_load`, `readers`, `retain_*` and `truncate` may change later.
    In mode `append` every change is a separate row, identified by topic partition and offset.  In mode
    `history` such a row also has the source row's key, and the time for which it was valid.
    """

    type: Literal["cow", "mor"] = attrs.field(
        default="cow",
        metadata={
            "help": "`cow`: copy on write, fast reads. `mor`: merge on read, fast small commits. "
            "Fixed at creation."
        },
    )
    table_version: Literal[6, 8, 9] = attrs.field(
        default=9,
        metadata={
            "help": "Version of Hudi's table format, which decides the engines that read the table: "
            "[Readers](readers.md). Fixed at creation."
        },
    )
    readers: tuple[Reader, ...] = attrs.field(
        default=(),
        metadata={
            "help": "Programs that read the table, or `any`. `ingest onboard` chooses `table_version` and "
            "`[types] timestamps` by them, and `ingest status` warns of what they do not show: "
            "[Readers](readers.md)."
        },
    )
    mode: Literal["upsert", "append", "history"] = attrs.field(
        default="upsert",
        metadata={
            "help": "`upsert`: one row per key, the newest. `append`: every change is a row, no key needed. "
            "`history`: every version of a row, with its time ([History](../history.md)). "
            "Fixed at creation."
        },
    )
    partition_by: tuple[str, ...] = attrs.field(
        default=(),
        validator=check_column_names,
        metadata={
            "help": "Columns that split the table into folders by value. A column outside the key needs the "
            "index `global_simple` or `global_record`. Fixed at creation."
        },
    )
    hive_style_partitions: bool = attrs.field(
        default=False,
        metadata={
            "help": "Name the folders of partitions by column and value (`day=2026-11-20`), as Hive does, "
            "and not by value alone. Fixed at creation."
        },
    )
    also: tuple[Literal["iceberg"], ...] = attrs.field(
        default=(),
        metadata={
            "help": '`["iceberg"]`: each commit also updates an Iceberg table of the same Parquet files, for '
            "engines that read no Hudi ([Iceberg](../iceberg.md)). Copy-on-write tables only."
        },
    )
    delete: Literal["hard", "soft"] = attrs.field(
        default="hard",
        metadata={"help": "`hard`: remove the row. `soft`: keep it, with `_cdc_deleted = true`."},
    )
    index: Literal["bucket", "global_simple", "global_record"] = attrs.field(
        default="bucket",
        metadata={
            "expert": True,
            "help": "`bucket`: find rows by a hash of the key. For partition columns outside the key "
            "`global_simple`, which reads the keys of all partitions in each commit, or `global_record`, "
            "which keeps them in Hudi's record index. Fixed at creation, but either of these may replace "
            "the other.",
        },
    )
    buckets: int = attrs.field(
        default=2,
        validator=Between(1, 4096),
        metadata={
            "help": "Files per partition, 1 to 4096, by expected size: see [Cluster](../cluster.md). "
            "Fixed at creation.",
        },
    )
    first_load: Literal["upsert", "bulk_insert"] = attrs.field(
        default="bulk_insert",
        metadata={
            "expert": True,
            "help": "How to write the first commit. `bulk_insert` merges nothing, as the table is empty, and "
            "writes Spark's own rows where the types of the key allow it. `upsert` costs more.",
        },
    )
    retain_commits: int = attrs.field(
        default=3,
        validator=Between(1, 10_000),
        metadata={
            "help": "Commits whose versions of the table's files stay for running readers, savepoints apart. "
            "Older ones are removed after as many commits again. [Maintenance](../maintenance.md) has the "
            "rule."
        },
    )
    retain_hours: float = attrs.field(
        default=0.0,
        validator=AtLeast(0),
        metadata={
            "help": "Keep the versions of the last hours, even if these have more commits than "
            "`retain_commits`: for readers that run longer, or that read changes later."
        },
    )
    compact_at: float = attrs.field(
        default=0.0,
        validator=AtLeast(0),
        metadata={
            "help": "Merge-on-read: compact after a commit as soon as the log files have this share of the "
            "bytes of their base files, such as 0.1, and 1 MB. 0: only after a number of commits. "
            "[Maintenance](../maintenance.md) has the price."
        },
    )
    truncate: Literal["apply", "ignore", "fail"] = attrs.field(
        default="apply",
        metadata={
            "help": "On a TRUNCATE of the source, `apply` deletes all older rows, `ignore` keeps them, "
            "`fail` stops the run."
        },
    )
