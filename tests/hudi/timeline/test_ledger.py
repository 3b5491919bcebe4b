"""The ledger is found again after any other change of the table."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.errors import LakeError, LakeUnreachableError, SettingsError
from ingest.hudi.fixed import recorded_parts
from ingest.hudi.options import hudi_options
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry, commit_metadata
from ingest.names import Partition, SchemaId, Topic
from tests.hudi.conftest import timeline_of

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"


def test_an_entry_comes_back_as_it_was_written(lake: "Lake") -> None:
    """Every field survives, and the instant is the commit's."""
    table = lake.table("exact")
    entry = LedgerEntry(
        run_id="r-1",
        topic=Topic("s.dbo.t"),
        next_offsets={Partition(0): 5, Partition(10): 2**40},
        high_offsets={Partition(0): 9, Partition(10): 2**40},
        schema_ids=(SchemaId(1), SchemaId(2**31 - 1)),
        counters={"upserted": 3, "ignored.tombstone": 1},
        kind="set-offsets",
        note='back by "hand", ä, two\nlines',
    )
    frame = lake.changes(DDL, ("c", "1", 1, 1))
    instant = lake.open(table).commit(frame, table, ["id"], "load", entry).instant

    assert lake.open(table).checkpoint() == attrs.evolve(
        entry, instant=instant, table_file=recorded_parts(table, ["id"])
    )


def test_no_table_has_no_entry_and_no_schema(spark: SparkSession, tmp_path: Path) -> None:
    """Neither a missing nor an empty folder is an error."""
    for path in (tmp_path / "missing", tmp_path):
        assert HudiTable(spark, str(path)).checkpoint() is None
        assert HudiTable(spark, str(path)).fields() is None


def test_a_folder_of_something_else_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A table is never written into files that are not its own."""
    (tmp_path / "data.csv").write_text("a")

    with pytest.raises(LakeError, match="not a Hudi table"):
        HudiTable(spark, str(tmp_path)).checkpoint()


def test_a_storage_without_an_answer_is_temporary(spark: SparkSession) -> None:
    """The exit code is that of 'try again'."""
    with pytest.raises(LakeUnreachableError, match="ConnectException") as failed:
        HudiTable(spark, "webhdfs://127.0.0.1:9/lake/t").checkpoint()

    assert failed.value.exit_code == 75


def test_a_path_without_a_file_system_is_a_wrong_setting(spark: SparkSession) -> None:
    """A scheme that is unknown will not come up by waiting."""
    with pytest.raises(SettingsError, match="No FileSystem for scheme"):
        HudiTable(spark, "nowhere://bucket/t").checkpoint()


def test_the_format_of_a_newer_version_is_refused(lake: "Lake", entry: Callable[[int], LedgerEntry]) -> None:
    """Offsets that this version may misunderstand are not read."""
    table = lake.table("newer")
    options = hudi_options(table, ["id"], "load") | commit_metadata(entry(1)) | {"ingest.format": "3"}
    frame = lake.changes(DDL, ("c", "1", 1, 1))
    frame.write.format("hudi").options(**options).mode("append").save(lake.path(table))

    with pytest.raises(LakeError, match="format '3'"):
        lake.open(table).checkpoint()


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_the_ledger_survives_cleaning_compaction_archiving_and_other_writers(lake: "Lake", kind: str) -> None:
    """Its newest entry is found in the timeline, and in the archive where foreign commits push it."""
    table = attrs.evolve(lake.table("long", type=kind, buckets=1), hudi=lake.SHORT_MEMORY)
    path = lake.path(table)
    instants = [lake.commit(table, lake.changes(DDL, ("u", f"{n:02}", n % 3, n))) for n in range(8)]
    timeline = timeline_of(path)

    newest = lake.open(table).checkpoint()
    assert newest is not None
    assert (newest.run_id, newest.instant) == ("run-8", instants[-1])
    assert [item.instant for item in lake.open(table).history(100)] == instants[::-1]
    assert lake.open(table).has_archive(), "nothing was archived"
    assert list(timeline.glob("*.clean")), "nothing was cleaned"
    assert bool(list(timeline.glob("*.commit"))) if kind == "mor" else True, "nothing was compacted"
    options = hudi_options(table, ["id"], "upsert") | lake.SERVICES
    for number in range(7):
        foreign = lake.changes(DDL, ("u", f"9{number}", 1, number))
        foreign.write.format("hudi").options(**options).mode("append").save(path)

    assert not any(instants[-1] in file.name for file in timeline.glob("*.*commit")), "nothing was pushed out"
    assert lake.open(table).checkpoint() == newest


def test_a_move_of_the_offsets_is_a_commit_without_rows(
    lake: "Lake", entry: Callable[[int], LedgerEntry]
) -> None:
    """Rows and schema stay, and the history tells both commits."""
    table = lake.table("moved")
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    before = (lake.rows(table, "id", "v"), lake.open(table).fields())
    moved = attrs.evolve(entry(7), kind="set-offsets", note="back to 70", next_offsets={Partition(0): 3})

    stored = lake.open(table)
    instant = stored.commit(stored.no_rows(), table, ["id"], "upsert", moved).instant

    assert lake.open(table).checkpoint() == attrs.evolve(
        moved, instant=instant, table_file=recorded_parts(table, ["id"])
    )
    assert (lake.rows(table, "id", "v"), lake.open(table).fields()) == before
    assert [item.kind for item in lake.open(table).history(5)] == ["set-offsets", "run"]
