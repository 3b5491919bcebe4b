"""A table file that contradicts its table is refused, with the key and both values."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from ingest.errors import TableChangedError
from ingest.hudi.fixed import find_changes, recorded_parts
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.options import hudi_options
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.properties import TableProperties
from ingest.names import Partition, Subject, Topic
from ingest.operations.status import advice
from ingest.tables import Column, Key, Subjects, TableConfig, Target, Types
from tests.hudi.conftest import entry_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, p int not null, v int"
CHANGES = {
    "target.type": ({"type": "mor"}, "mor", "cow"),
    "target.buckets": ({"buckets": 8}, "8", "2"),
    "target.index": ({"index": "global_simple"}, "global_simple", "bucket"),
    "target.partition_by": ({"partition_by": ("p",)}, "p", "unset"),
    "target.hive_style_partitions": ({"hive_style_partitions": True}, "true", "false"),
    "target.mode": ({"mode": "append"}, "append", "upsert"),
}
FREE: list[dict[str, Any]] = [
    {"delete": "soft"},
    {"retain_commits": 9, "retain_hours": 1.5, "compact_at": 0.0},
    {"first_load": "bulk_insert"},
    {"truncate": "ignore"},
]


@pytest.fixture
def table(lake: "Lake") -> TableConfig:
    """Create a table with one commit."""
    table = lake.table("orders")
    lake.commit(table, lake.changes(DDL, *(("c", "1", key, 1, 1) for key in range(40))))
    return table


def test_each_fixed_part_of_the_target_is_named(lake: "Lake", table: TableConfig) -> None:
    """Before anything is read or written."""
    for key, (change, value, fixed) in CHANGES.items():
        changed = attrs.evolve(table, target=attrs.evolve(table.target, **change))
        with pytest.raises(TableChangedError) as refused:
            lake.open(table).check_config(changed)
        assert (refused.value.key, refused.value.value, refused.value.fixed) == (key, value, fixed)
    wider = attrs.evolve(table, target=attrs.evolve(table.target, buckets=8))
    with pytest.raises(TableChangedError, match=r"orders.toml: target.buckets: found 8, but .* with 2"):
        lake.commit(wider, lake.changes(DDL, ("u", "2", 1, 1, 1)))
    for change in FREE:
        lake.open(table).check_config(attrs.evolve(table, target=attrs.evolve(table.target, **change)))


def test_key_types_and_columns_are_compared(lake: "Lake", table: TableConfig) -> None:
    """Policies of columns that the table does not have are free."""
    stored = lake.open(table)
    columns: dict[str, Callable[[], dict[str, Column]]] = {
        "columns.v.rename": lambda: {"v": Column(rename="w")},
        "columns.v.nanos": lambda: {"v": Column(nanos="string")},
    }
    for key, column in columns.items():
        with pytest.raises(TableChangedError) as refused:
            stored.check_config(attrs.evolve(table, columns=column()))
        assert refused.value.key == key
    with pytest.raises(TableChangedError, match=r"types.time: found micros, but .* with string"):
        stored.check_config(attrs.evolve(table, types=Types(time="micros")))
    with pytest.raises(TableChangedError, match=r"types.timestamps: found utc, but .* with ntz"):
        stored.check_config(attrs.evolve(table, types=Types(timestamps="utc")))
    with pytest.raises(TableChangedError, match=r"key.columns: found id,p, but .* with id"):
        stored.check_key(attrs.evolve(table, key=Key(("id", "p"))), ("id", "p"))

    stored.check_config(attrs.evolve(table, columns={"new": Column(rename="w"), "v": Column(type="bigint")}))
    stored.check_key(table, ("id",))


def test_both_readers_find_the_largest_file(lake: "Lake", table: TableConfig) -> None:
    """The newest version of a bucket's file, as the disk has it; by it `ingest status` advises buckets."""
    lake.commit(table, lake.changes(DDL, *(("u", "2", key, 1, 2) for key in range(40))))
    newest = sorted(Path(lake.path(table)).glob("*.parquet"), key=lambda file: file.stat().st_mtime_ns)[-2:]
    largest = max(file.stat().st_size for file in newest)
    assert lake.open(table).largest_file() == largest
    assert OfflineTable(lake.path(table), lake.hadoop).largest_file() == largest


def test_both_readers_find_commits_that_rewrite_much(
    lake: "Lake", table: TableConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By them `ingest status` advises merge-on-read."""
    monkeypatch.setattr(advice, "LIMIT_BYTES", 1)
    monkeypatch.setattr(advice, "_BYTES_PER_CHANGE", 1)
    for run in range(2, 5):
        entry = attrs.evolve(entry_of(run), counters={"upserted": 1})
        lake.open(table).commit(lake.changes(DDL, ("u", str(run), 1, 1, run)), table, ["id"], "upsert", entry)
    for stored in (lake.open(table), OfflineTable(lake.path(table), lake.hadoop)):
        assert 'for 3 rows: set [target] type = "mor"' in advice.advise(table, 0, stored.each_commit())


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_the_rows_of_a_table_without_a_record_show_its_buckets(lake: "Lake", kind: str) -> None:
    """A table of an older version: its file groups are named after their buckets."""
    offsets = {Partition(0): 1}
    entry = LedgerEntry("old", Topic("s.dbo.t"), offsets, offsets)
    old = lake.table(f"old_{kind}", type=kind, table_version=9)
    keys = lake.changes(
        "id string not null, b int not null", *(("c", "1", f"k{n}", n // 2) for n in range(40))
    )
    for key_columns in (["id"], ["id", "b"]):
        table = attrs.evolve(old, name=f"{old.name}_{len(key_columns)}")
        options = hudi_options(table, key_columns, "load")
        lake.open(table).save(keys, options, table.name, entry)
        wider = attrs.evolve(table, target=attrs.evolve(table.target, buckets=8))
        by_scan = attrs.evolve(table, target=attrs.evolve(table.target, index="global_simple"))
        stored = lake.open(table)

        stored.check_config(wider)
        stored.check_key(table, key_columns)
        with pytest.raises(TableChangedError, match=r"target.buckets: found 8, but .* with 2"):
            stored.check_key(wider, key_columns)
        with pytest.raises(TableChangedError, match=r"target.index: found global_simple, but .* with bucket"):
            stored.check_key(by_scan, key_columns)


def test_an_option_of_older_versions_counts_as_recorded() -> None:
    """`[hudi]` could name folders by column: such a table has them, though no commit says so."""
    target = Target(partition_by=("p",))
    table = TableConfig(
        name="t", topic=Topic("t"), dialect="sqlserver", subjects=Subjects(value=Subject("t-value")),
        target=target,
    )  # fmt: skip
    recorded = {key: text for key, text in recorded_parts(table, ["id"]).items() if "hive" not in key}
    properties = TableProperties("cow", ("id",), ("p",), hive_style=True)
    changes = find_changes(table, properties, recorded, tuple, ["id"])
    assert [str(change) for change in changes.all] == ["hive_style_partitions true -> false"]
    assert not changes.is_half_done
    named = attrs.evolve(table, target=attrs.evolve(target, hive_style_partitions=True))
    assert not find_changes(named, properties, recorded, tuple, ["id"]).all


def test_a_table_of_version_8_names_the_column_that_orders_its_changes(lake: "Lake") -> None:
    """Hudi 1.0.2 reads no log file without it, and Hudi 1.2.0 writes it under another name."""
    table = lake.table("older", type="mor", table_version=8)
    lake.commit(table, lake.changes("id int not null", ("c", "1", 1)))
    properties = Path(lake.path(table), ".hoodie", "hoodie.properties").read_text()
    assert "hoodie.table.precombine.field=_cdc_position\n" in properties
