"""One commit holds rows, deletes and offsets; the newest position wins; a failure commits nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest
from pyspark.sql import functions as F
from structlog.testing import capture_logs

from ingest.errors import WriteError
from ingest.hudi.timeline.ledger import LedgerEntry

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"
PARTED = "id int not null, p string, v int"


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_the_newest_position_wins_across_commits(lake: "Lake", kind: str) -> None:
    """Older updates and deletes lose, an equal position takes the new arrival, newer ones win."""
    table = lake.table("order", type=kind)
    lake.commit(table, lake.changes(DDL, *(("c", "5", key, 0) for key in range(1, 7))))
    later = [("u", "4", 1, 1), ("u", "5", 2, 2), ("d", "4", 3, None), ("d", "5", 4, None), ("u", "6", 5, 5)]
    lake.commit(table, lake.changes(DDL, *later, ("d", "9", 77, None)))

    assert lake.rows(table, "id", "v") == [(1, 0), (2, 2), (3, 0), (5, 5), (6, 0)]


@pytest.mark.parametrize(
    ("first_load", "bloom"), [("bulk_insert", "false"), ("bulk_insert", "true"), ("upsert", "false")]
)
def test_files_have_a_bloom_filter_only_on_demand(lake: "Lake", first_load: str, bloom: str) -> None:
    """By default one takes 431 KB in each file, and no index of ours reads it."""
    table = lake.table("bloom", first_load=first_load)
    table = attrs.evolve(table, hudi={"hoodie.parquet.bloom.filter.enabled": bloom})
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 0)))
    (file,) = Path(lake.path(table)).glob("*.parquet")
    size = file.stat().st_size
    assert size > 400_000 if bloom == "true" else size < 10_000


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_delete_leaves_no_memory_on_cow(lake: "Lake", kind: str) -> None:
    """An older change after the delete's commit comes back on COW; MOR remembers until it compacts."""
    table = lake.table("memory", type=kind)
    lake.commit(table, lake.changes(DDL, ("c", "5", 1, 0)))
    lake.commit(table, lake.changes(DDL, ("d", "6", 1, None)))
    lake.commit(table, lake.changes(DDL, ("u", "5", 1, 9)))

    assert lake.rows(table, "id", "v") == ([(1, 9)] if kind == "cow" else [])


@pytest.mark.parametrize("index", ["global_simple", "global_record"])
@pytest.mark.parametrize(("kind", "first_load"), [("cow", "bulk_insert"), ("mor", "upsert")])
def test_rows_move_between_partitions_and_deletes_find_them(
    lake: "Lake", kind: str, first_load: str, index: str
) -> None:
    """With the partition column outside the key, a delete has it null, and removes the row nevertheless."""
    table = lake.table("moving", type=kind, index=index, partition_by=("p",), first_load=first_load)
    lake.commit(
        table,
        lake.changes(
            PARTED,
            *(("c", "1", key, part, 1) for key, part in [(1, "x"), (2, "x"), (3, "y/z"), (4, None)]),
            ("d", "1", 9, None, None),
        ),
    )
    assert lake.rows(table, "id") == [(1,), (2,), (3,), (4,)]
    deletes = [("d", "2", key, None, None) for key in (1, 4, 77)]
    lake.commit(table, lake.changes(PARTED, *deletes, ("u", "2", 2, "y", 2)))
    assert lake.rows(table, "id", "p", "v") == [(2, "y", 2), (3, "y/z", 1)]
    lake.commit(table, lake.changes(PARTED, ("u", "3", 2, "x", 3), ("d", "0", 3, None, None)))

    assert lake.rows(table, "id", "p", "v") == [(2, "x", 3), (3, "y/z", 1)]


@pytest.mark.parametrize("index", ["bucket", "global_simple"])
def test_a_first_load_writes_few_files_to_each_partition(lake: "Lake", index: str) -> None:
    """However many tasks have its rows: each later commit reads or rewrites every file."""
    table = lake.table(f"few_{index}", index=index, partition_by=("p",), buckets=1)
    ddl = "id int not null, p string not null, v int"
    rows = lake.changes(ddl, *(("c", "1", key, "ab"[key % 2], 1) for key in range(40)))
    lake.commit(table, rows.repartition(4), ("id", "p"))

    folders = [file.parent.name for file in Path(lake.path(table)).rglob("*.parquet")]
    assert sorted(folders) == ["a", "b"]
    assert lake.frame(table).count() == 40


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_composite_keys_partitioned_by_a_part_of_the_key(lake: "Lake", kind: str) -> None:
    """Updates and deletes go to the partition that the key names."""
    table = lake.table("parts", type=kind, partition_by=("p",))
    keys = ("id", "p")
    rows = [(1, "a"), (1, "b/c=d"), (2, "a")]
    ddl = "id int not null, p string not null, v int"
    lake.commit(table, lake.changes(ddl, *(("c", "1", *row, 1) for row in rows)), keys)
    lake.commit(table, lake.changes(ddl, ("u", "2", 1, "b/c=d", 2), ("d", "2", 1, "a", None)), keys)

    assert lake.rows(table, "id", "p", "v") == [(1, "b/c=d", 2), (2, "a", 1)]


def test_an_empty_frame_commits_its_entry(lake: "Lake", entry: Callable[[int], LedgerEntry]) -> None:
    """Offsets advance over a range without rows, as a table's very first commit too."""
    table = lake.table("empty")
    for run in (1, 2):
        empty, operation = lake.changes(DDL), lake.operation(table)
        instant = lake.open(table).commit(empty, table, ["id"], operation, entry(run)).instant
        newest = lake.open(table).checkpoint()
        assert newest is not None
        assert (newest.run_id, newest.instant) == (f"run-{run}", instant)
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))

    assert lake.rows(table, "id", "v") == [(1, 1)]


def test_a_row_that_cannot_be_written_commits_nothing_and_its_cause_is_named(
    lake: "Lake", entry: Callable[[int], LedgerEntry]
) -> None:
    """The deepest Java exception reaches the message, and offsets stay where they were."""
    table = lake.table("failing")
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    bad = lake.changes(DDL, ("u", "2", 1, 1)).withColumn("v", F.raise_error(F.lit("boom")).cast("int"))

    with pytest.raises(WriteError, match="boom"):
        lake.open(table).commit(bad, table, ["id"], "upsert", entry(2))
    newest = lake.open(table).checkpoint()
    assert newest is not None
    assert newest.run_id == "run-1"
    assert lake.rows(table, "id", "v") == [(1, 1)]


def test_a_failure_after_the_commit_counts_as_committed(
    lake: "Lake", entry: Callable[[int], LedgerEntry]
) -> None:
    """Compaction inside the write finds a broken file: rows and offsets are in, and a warning is given."""
    table = attrs.evolve(
        lake.table("after", type="mor", buckets=1, first_load="upsert"),
        hudi=lake.SHORT_MEMORY | {"hoodie.compact.inline": "true"},
    )
    path = lake.path(table)
    for run in range(1, 6):
        lake.commit(table, lake.changes(DDL, ("u", str(run), 1, run)))
    for base in Path(path).glob("*.parquet"):
        base.write_bytes(b"broken")

    with capture_logs() as logged:
        instant = (
            lake.open(table)
            .commit(lake.changes(DDL, ("u", "6", 1, 6)), table, ["id"], "upsert", entry(6))
            .instant
        )

    newest = lake.open(table).checkpoint()
    assert newest is not None
    assert (newest.run_id, newest.instant) == ("run-6", instant)
    assert [line["event"] for line in logged] == ["commit succeeded; table services failed"]


@pytest.mark.parametrize(
    "value",
    ["array(1, null)", "array(named_struct('a', cast(null as int)))", "date'0001-01-01'"],
)
@pytest.mark.parametrize("first_load", ["upsert", "bulk_insert"])
def test_values_that_default_settings_cannot_write_come_back(
    lake: "Lake", value: str, first_load: str
) -> None:
    """Null elements need the new list structure, old dates the CORRECTED calendar."""
    table = lake.table("settings", first_load=first_load)
    batch = f"select '{{0}}' _cdc_op, '{{0}}' _cdc_position, 1 id, {value} v"
    for position in ("1", "2"):
        lake.commit(table, lake.spark.sql(batch.format(position)))

    expected: Any = lake.spark.sql(f"select {value} v").first()
    assert lake.rows(table, "v") == [tuple(expected)]


@pytest.mark.parametrize(
    ("index", "parts", "times"),
    [("bucket", (), (1, 1)), ("global_simple", ("p",), (1, 1)), ("global_record", ("p",), (1, 2))],
)
def test_the_frame_is_evaluated_once(
    lake: "Lake", index: str, parts: tuple[str, ...], times: tuple[int, int]
) -> None:
    """A batch that was not persisted is not decoded again, but by Hudi's lookup in its record index."""
    table = lake.table("once", index=index, partition_by=parts)
    seen = lake.spark.sparkContext.accumulator(0)
    for position, count_of_times in zip(("1", "2"), times, strict=True):
        rows = lake.changes(PARTED, *(("u", position, key, "x", 1) for key in range(10)))
        before = seen.value

        def count(row: Any) -> Any:
            seen.add(1)
            return row

        lake.commit(table, lake.spark.createDataFrame(rows.rdd.map(count), rows.schema))
        assert seen.value - before == 10 * count_of_times
