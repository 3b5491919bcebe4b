"""Spark's record merger leaves the table that Hudi's own, over Avro records, leaves: the slow way decides."""

import random
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

import attrs
import pytest

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


def batches(seed: int) -> Iterator[tuple[str, list[tuple[Any, ...]]]]:
    """Yield columns and rows of commits: a sixth of the changes deletes, some are older than the row."""
    rng = random.Random(seed)  # noqa: S311  data, no secret
    for commit in range(COMMITS):
        types = TYPES if commit < 2 else LATER
        rows = []
        for key in rng.sample(range(KEYS), BATCH):
            op = "d" if commit and rng.random() < 1 / 6 else "u"
            position = f"{max(0, commit * 10 - rng.choice([0, 0, 0, 15])):04d}"
            values = [None if op == "d" else value_of(ddl, rng) for ddl in types.values()]
            rows.append((op, position, f"key {key}", *values))
        yield ", ".join(f"{name} {ddl}" for name, ddl in types.items()), rows


@pytest.mark.spark
@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_both_mergers_leave_one_table(lake: "Lake", monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """All columns and Hudi's keys are equal after every commit, and after the compactions between them."""
    often = {"hoodie.compact.inline.max.delta.commits": "3"}
    fast, slow = (
        attrs.evolve(lake.table(name, type=kind, buckets=2), hudi=often) for name in ("fast", "slow")
    )
    for columns, rows in batches(seed=1):
        changes = lake.changes(f"id string not null, {columns}", *rows)
        lake.commit(fast, changes)
        with monkeypatch.context() as patch:
            for module in ("table", "upkeep.maintain"):
                patch.setattr(f"ingest.hudi.{module}.merger_options", lambda *_: {})
            lake.commit(slow, changes)
        names = [name for name in lake.frame(slow).columns if name not in VOLATILE]
        assert shown(lake, fast, names) == shown(lake, slow, names)


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
