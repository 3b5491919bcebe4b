"""A merge by Spark's rows, and of files in batches, leaves the table that the slow way leaves."""

import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ingest.hudi.options import MERGER, SPARKS, merger_options

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.hudi.conftest import Lake

TYPES: Final = {
    "flag": "boolean",
    "small": "int",
    "large": "bigint",
    "ratio": "double",
    "share": "float",
    "price": "decimal(9,2)",
    "exact": "decimal(38,10)",
    "name": "string",
    "bytes": "binary",
    "day": "date",
    "at": "timestamp",
    "at_local": "timestamp_ntz",
    "tags": "array<string>",
    "home": "struct<street:string,number:int,since:timestamp>",
    "lines": "array<struct<sku:string,amount:double>>",
    "extra": "map<string,bigint>",
}
LATER: Final = {**TYPES, "small": "bigint", "share": "double", "added": "decimal(5,1)"}
"""The columns from the third commit on: two are wider, one is new."""
KEYS: Final = 40
BATCH: Final = 30
COMMITS: Final = 6
FLAT: Final = {name: ddl for name, ddl in TYPES.items() if "<" not in ddl}
LATER_FLAT: Final = {name: ddl for name, ddl in LATER.items() if "<" not in ddl}
IN_BATCHES: Final = 1 << 20
"""Bytes of a file from which a merge reads it in batches."""
PAYLOAD: Final = "concat_ws('', transform(sequence(1, 80), n -> md5(concat(id, _cdc_position, n))))"
"""2,560 hexadecimal digits, which a file holds in some 1,400 bytes."""
VOLATILE: Final = {"_hoodie_commit_time", "_hoodie_commit_seqno", "_hoodie_file_name"}
"""Hudi's columns that tell two writes apart."""


def value_of(ddl: str, rng: random.Random) -> Any:
    """Make a value of a type, often null, sometimes at an end of its range."""
    if rng.random() < 0.2:
        return None
    values: dict[str, list[Any]] = {
        "boolean": [True, False],
        "int": [0, -1, 2**31 - 1, -(2**31)],
        "bigint": [0, -1, 2**63 - 1, -(2**63)],
        "double": [0.0, 1.5, float("inf"), float("nan"), -1e300],
        "float": [0.0, 1.5, -0.25],
        "decimal(9,2)": [Decimal("0.00"), Decimal("-9999999.99"), Decimal("1.25")],
        "decimal(38,10)": [Decimal(10**27), Decimal("-0.0000000001")],
        "decimal(5,1)": [Decimal("1234.5")],
        "string": ["", "é€", "a,b:c", "x" * 300],
        "binary": [b"", b"\x00\xff"],
        "date": [date(1, 1, 1), date(1582, 10, 10), date(9999, 12, 31)],
        "timestamp": [datetime(1, 1, 1, tzinfo=UTC), datetime(2026, 3, 29, 1, 30, 0, 123456, UTC)],
        "timestamp_ntz": [datetime(1899, 12, 31), datetime(2026, 3, 29, 2, 30, 0, 654321)],  # noqa: DTZ001
        "array<string>": [[], ["a", None], [""]],
        "struct<street:string,number:int,since:timestamp>": [
            ("a", None, None), (None, 1, datetime(2020, 1, 1, tzinfo=UTC)),
        ],
        "array<struct<sku:string,amount:double>>": [[], [("a", 1.5), (None, None)]],
        "map<string,bigint>": [{}, {"a": 1, "b": None}],
    }  # fmt: skip
    return rng.choice(values[ddl])


def batches(
    seed: int, types: Mapping[str, str], later: Mapping[str, str], *, scale: int = 1
) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield columns and rows of commits: a sixth of the changes deletes, some are older than the row.

    The columns are `types`, and `later` from the third commit on.
    """
    rng = random.Random(seed)  # noqa: S311  data, no secret
    for commit in range(COMMITS):
        columns = types if commit < 2 else later
        rows = []
        for key in rng.sample(range(KEYS * scale), BATCH * scale):
            op = "d" if commit and rng.random() < 1 / 6 else "u"
            position = f"{max(0, commit * 10 - rng.choice([0, 0, 0, 15])):04d}"
            values = [None if op == "d" else value_of(ddl, rng) for ddl in columns.values()]
            rows.append((op, position, f"key {key}", *values))
        yield ", ".join(f"{name} {ddl}" for name, ddl in columns.items()), rows


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_both_mergers_leave_one_table(lake: "Lake", monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """All columns and Hudi's keys are equal after every commit, and after the compactions between them."""
    often = {"hoodie.compact.inline.max.delta.commits": "3"}
    fast, slow = (
        attrs.evolve(lake.table(name, type=kind, buckets=2), hudi=often) for name in ("fast", "slow")
    )
    for columns, rows in batches(1, TYPES, LATER):
        changes = lake.changes(f"id string not null, {columns}", *rows)
        lake.commit(fast, changes)
        with monkeypatch.context() as patch:
            for module in ("table", "upkeep.maintain"):
                patch.setattr(f"ingest.hudi.{module}.merger_options", lambda *_: {})
            lake.commit(slow, changes)
        names = [name for name in lake.frame(slow).columns if name not in VOLATILE]
        assert shown(lake, fast, names) == shown(lake, slow, names)


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_large_files_are_merged_in_batches(lake: "Lake", kind: str) -> None:
    """As by rows: after every commit, the compactions between them, and with columns that a file lacks."""
    often = {"hoodie.compact.inline.max.delta.commits": "2"}
    fast, slow = (
        attrs.evolve(lake.table(name, type=kind, buckets=1), hudi=often) for name in ("fast", "slow")
    )
    for columns, rows in batches(1, FLAT, LATER_FLAT, scale=40):
        changes = lake.changes(f"id string not null, {columns}", *rows)
        large = changes.withColumn("payload", F.expr(PAYLOAD)).localCheckpoint()
        lake.commit(fast, large)
        with by_rows(lake.spark):
            lake.commit(slow, large)
            names = [name for name in lake.frame(slow).columns if name not in VOLATILE]
            expected = shown(lake, slow, names)
        assert shown(lake, fast, names) == expected
        files = Path(lake.path(fast)).glob("*.parquet")
        assert min(file.stat().st_size for file in files) > IN_BATCHES


@contextmanager
def by_rows(spark: SparkSession) -> Iterator[None]:
    """Read files by rows, as Hudi does without `ingest`."""
    vectorized = "spark.sql.parquet.enableVectorizedReader"
    spark.conf.set(vectorized, "false")
    try:
        yield
    finally:
        spark.conf.unset(vectorized)


def shown(lake: "Lake", table: "TableConfig", names: list[str]) -> list[str]:
    """Return the rows of a table as JSON with nulls, in the order of their keys."""
    values = ", ".join(f"`{name}`" for name in names)
    text = f"to_json(struct({values}), map('ignoreNullFields', 'false')) as row"
    return [row.row for row in lake.frame(table).orderBy("id").selectExpr(text).collect()]


@pytest.mark.parametrize(
    ("key", "partitions", "options"),
    [
        ("bigint", (), {MERGER: SPARKS}),
        ("decimal(9,2)", (), {MERGER: SPARKS}),
        ("timestamp", (), {}),
        ("binary", (), {}),
        ("bigint", ("day",), {}),
    ],
)
def test_sparks_rows_are_merged_where_they_have_the_keys_of_upserts(
    lake: "Lake", key: str, partitions: tuple[str, ...], options: dict[str, str]
) -> None:
    """Hudi makes other keys of some types from Spark's rows: a later change would double the row."""
    index = "global_simple" if partitions else "bucket"
    table = lake.table("t", partition_by=partitions, index=index)
    assert merger_options(table, ["id"], [("id", key), ("day", "date"), ("at", "timestamp")]) == options
