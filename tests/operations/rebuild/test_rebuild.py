"""The plan of a rebuild in words and figures, its refusals, and the exchange of two folders."""

from pathlib import Path

import pytest

from ingest.errors import RebuildError
from ingest.hudi.fixed import FixedChange
from ingest.hudi.storage.exchange import check_exchange, copy_by_links, exchange
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import Watermark
from ingest.names import Partition, Subject, Topic
from ingest.operations.rebuild.rebuild_plan import RebuildPlan, whole_ranges
from ingest.tables import Subjects, TableConfig
from tests.feeds import feed

BUCKETS = FixedChange("target.buckets", "2", "64")
TABLE = TableConfig(
    name="orders", topic=Topic("t"), dialect="sqlserver", subjects=Subjects(value=Subject("t-value"))
)


def entry(offset: int, high: int, topic_id: str = "a") -> LedgerEntry:
    """Return the account of a table that read one partition."""
    partition = Partition(0)
    return LedgerEntry("r", Topic("t"), {partition: offset}, {partition: high}, topic_id=topic_id)


def test_the_plan_says_changes_rows_and_time() -> None:
    """In millions and minutes, and with the command."""
    plan = RebuildPlan("orders", (BUCKETS,), 12_400_000, 1_000, 10_000)
    assert str(plan) == "buckets 2 -> 64, 12.4 M rows, about 6.9 min"
    assert plan.command == "ingest rebuild orders"
    plan.check_disk()


@pytest.mark.parametrize(
    ("key", "needs_topic"),
    [
        ("target.type", False),
        ("target.mode", True),
        ("key.columns", False),
        ("columns.a.rename", False),
        ("columns.rename.time", True),
        ("types.nanos", True),
        ("document.columns.rename.path", True),
        ("columns.a.mask", True),
    ],
)
def test_converted_values_need_the_topic(key: str, *, needs_topic: bool) -> None:
    """Parts that arrange rows do not; a part that is unknown here does."""
    change = FixedChange(key, "", "x")
    assert change.needs_topic == needs_topic
    assert ("--from topic" in RebuildPlan("orders", (BUCKETS, change), 1, 1).command) == needs_topic


def test_too_little_disk_is_refused_before_anything_is_written() -> None:
    """The old files stay next to the new ones; a storage without a bound is not asked."""
    with pytest.raises(RebuildError, match=r"needs 110.0 MB of disk, and 109.0 MB are free"):
        RebuildPlan("orders", (BUCKETS,), 1, 100_000_000, 109_000_000).check_disk()
    RebuildPlan("orders", (BUCKETS,), 1, 100_000_000, 110_000_000).check_disk()
    RebuildPlan("orders", (BUCKETS,), 1, 100_000_000, None).check_disk()


def test_a_topic_is_read_up_to_all_offsets_ever_applied() -> None:
    """After a move back, the rows are those of the offsets before it."""
    marks = {Partition(0): Watermark(0, 90, "a")}
    (part,) = whole_ranges(feed(TABLE), entry(20, 50), marks).ranges
    assert (part.start, part.end) == (0, 50)


@pytest.mark.parametrize(
    ("mark", "problem"),
    [
        (Watermark(1, 90, "a"), "begins at offset 1, not 0"),
        (Watermark(0, 49, "a"), "ends before offset 50"),
        (Watermark(0, 90, "b"), "was deleted and created again"),
    ],
)
def test_a_topic_that_lost_messages_is_refused(mark: Watermark, problem: str) -> None:
    """Retention, a truncated topic, another topic of that name."""
    with pytest.raises(RebuildError, match=problem):
        whole_ranges(feed(TABLE), entry(50, 50), {Partition(0): mark})


def test_two_folders_change_places_in_one_step(tmp_path: Path) -> None:
    """The copy shares the data files with the table, and has its own properties."""
    table, copy = tmp_path / "table", tmp_path / "_rebuild" / "table"
    (table / ".hoodie").mkdir(parents=True)
    (table / ".hoodie" / "hoodie.properties").write_text("old")
    (table / "rows.parquet").write_text("rows")
    check_exchange(copy.parent)
    assert list(copy.parent.iterdir()) == []
    copy_by_links(table, copy)
    (copy / ".hoodie" / "hoodie.properties").write_text("new")
    exchange(table, copy)

    assert (table / ".hoodie" / "hoodie.properties").read_text() == "new"
    assert (copy / ".hoodie" / "hoodie.properties").read_text() == "old"
    assert (table / "rows.parquet").stat().st_ino == (copy / "rows.parquet").stat().st_ino
    with pytest.raises(FileNotFoundError):
        exchange(table, tmp_path / "missing")
