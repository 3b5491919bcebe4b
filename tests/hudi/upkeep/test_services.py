"""Compaction, cleaning, archiving: no row changes, readers find their files, killed work is finished."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.options import COMPACT, hudi_options
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.read_cost import ReadCost
from ingest.hudi.upkeep.maintain import keep_up, maintain, plan_upkeep
from ingest.hudi.upkeep.retention import (
    CLEAN_TRIGGER,
    KEEP_MIN,
    RETAINED,
    trigger,
    upkeep_options,
    versions_retained,
)
from ingest.hudi.upkeep.services import Upkeep, open_services
from ingest.names import Subject, Topic
from ingest.tables import Subjects, TableConfig, Target
from tests.hudi.conftest import timeline_of

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

DDL = "id int not null, v int"
TABLE = TableConfig(
    name="t", topic=Topic("t"), dialect="sqlserver", subjects=Subjects(value=Subject("t-value"))
)
COMMITS = 11
TEXT = "concat_ws('', transform(sequence(1, 32), n -> md5(concat(id, n, v)))) text"
"""1,000 characters that do not repeat."""


def fill(lake: "Lake", table: TableConfig, commits: int = COMMITS, *, keeps_up: bool = False) -> list[str]:
    """Commit rows and changes of them; return the instants."""
    rows = [("u", f"{0:03}", key, 0) for key in range(20)]
    changes = [[("u", f"{n:03}", key, n) for key in range(5)] for n in range(1, commits)]
    return [lake.commit(table, lake.changes(DDL, *batch), keeps_up=keeps_up) for batch in [rows, *changes]]


def base_files(lake: "Lake", table: TableConfig) -> list[Path]:
    """List the data files, without those of the timeline."""
    return sorted(Path(lake.path(table)).glob("*.parquet"))


def timeline(lake: "Lake", table: TableConfig) -> set[str]:
    """List the timeline."""
    return {file.name for file in timeline_of(lake.path(table)).iterdir()}


def checkpoints(lake: "Lake", table: TableConfig) -> tuple[LedgerEntry | None, ...]:
    """Return the table's checkpoint, by Hudi's classes and by its files."""
    return lake.open(table).checkpoint(), OfflineTable(lake.path(table), lake.hadoop).checkpoint()


def total_bytes(files: list[Path]) -> int:
    """Add up the sizes of files."""
    return sum(file.stat().st_size for file in files)


# --- retention ---------------------------------------------------------------------------------


def test_options_of_the_table_file_win_by_either_name() -> None:
    """Hudi reads a former name only where the present one is not set, so ours must not be."""
    former = {"hoodie.cleaner.commits.retained": "7", "hoodie.clean.max.commits": "4"}
    options = upkeep_options(attrs.evolve(TABLE, hudi=former), 0)
    assert RETAINED not in options
    assert CLEAN_TRIGGER not in options
    assert trigger(options, CLEAN_TRIGGER) == 4
    assert versions_retained(options) == 8
    by_hours = attrs.evolve(TABLE, hudi={"hoodie.cleaner.policy": "KEEP_LATEST_BY_HOURS"})
    assert versions_retained(upkeep_options(by_hours, 0)) == 0
    assert upkeep_options(attrs.evolve(TABLE, hudi={RETAINED: "9"}), 50)[RETAINED] == "9"


def test_the_last_hours_stay_even_with_many_commits() -> None:
    """The larger of both bounds counts; the timeline stays longer than the files."""
    table = attrs.evolve(TABLE, target=Target(retain_commits=5))
    assert upkeep_options(table, 2)[RETAINED] == "5"
    options = upkeep_options(table, 300)
    assert options[RETAINED] == "300"
    assert int(options[KEEP_MIN]) > 300


@pytest.mark.spark
def test_a_copy_on_write_table_keeps_few_versions_of_its_files(lake: "Lake") -> None:
    """After eleven commits there are at most six versions of each of two files, and three can be read."""
    table = lake.table("few")
    instants = fill(lake, table, keeps_up=True)

    files, retained = base_files(lake, table), table.target.retain_commits
    newest = [file for file in files if instants[-1] in file.name]
    assert len(newest) == 2
    assert len(files) <= len(newest) * 2 * retained
    assert total_bytes(files) <= 1.1 * total_bytes(newest) * 2 * retained
    for number in range(COMMITS - retained, COMMITS):
        at_instant = lake.spark.read.format("hudi").option("as.of.instant", instants[number])
        values = at_instant.load(lake.path(table)).where("id = 0").select("v").collect()
        assert [row["v"] for row in values] == [number]


@pytest.mark.spark
def test_all_versions_of_the_last_hours_stay(lake: "Lake") -> None:
    """With `retain_hours` no commit of this test is old enough to lose its files."""
    table = lake.table("hours", buckets=1, retain_commits=1, retain_hours=1.0)
    fill(lake, table, 5, keeps_up=True)
    maintain(lake.open(table), table)

    assert len(base_files(lake, table)) == 5


@pytest.mark.spark
def test_a_reader_that_began_before_the_last_commits_ends_well(lake: "Lake") -> None:
    """Its files are those of its version, as long as `retain_commits` says."""
    table = lake.table("reader", buckets=1)
    fill(lake, table, 2, keeps_up=True)
    reader = lake.frame(table)
    before = sorted(reader.select("id", "v").inputFiles())
    for n in range(100, 100 + table.target.retain_commits):
        lake.commit(table, lake.changes(DDL, ("u", f"{n:03}", 0, n)))
        maintain(lake.open(table), table)

    assert all(Path(file.removeprefix("file:")).exists() for file in before)


# --- maintenance -------------------------------------------------------------------------------


@pytest.mark.spark
def test_maintenance_changes_files_and_no_row(lake: "Lake") -> None:
    """The dry run says what is to do; then rows and checkpoint are the same, and nothing is left to do."""
    archiving = {"hoodie.keep.min.commits": "5", "hoodie.keep.max.commits": "6"}
    table = attrs.evolve(lake.table("whole", buckets=1), hudi=archiving)
    fill(lake, table, 8)
    before = (lake.rows(table, "id", "v"), checkpoints(lake, table), lake.open(table).fields())
    names = timeline(lake, table)

    planned = plan_upkeep(lake.open(table), table)
    assert timeline(lake, table) == names
    result = maintain(lake.open(table), table)

    assert (lake.rows(table, "id", "v"), checkpoints(lake, table), lake.open(table).fields()) == before
    assert (planned.removed_files, planned.freed_bytes) == (result.removed_files, result.freed_bytes)
    assert result.removed_files == 4  # of eight versions, three and the one before stay
    assert result.archived_commits > 0
    again = maintain(lake.open(table), table)
    assert attrs.evolve(again, removed_files=0, freed_bytes=0, archived_commits=0) == Upkeep()
    assert maintain(lake.open(table), table) == Upkeep()
    lake.commit(table, lake.changes(DDL, ("u", "999", 0, -1)))
    assert lake.rows(table, "id", "v")[0] == (0, -1)


@pytest.mark.spark
def test_a_savepoint_survives_maintenance(lake: "Lake") -> None:
    """Its files stay, and the table can be restored to it, with its offsets."""
    table = lake.table("saved", buckets=1)
    instant = fill(lake, table, 2)[-1]
    before = (lake.rows(table, "id", "v"), lake.open(table).checkpoint())
    path = lake.path(table)
    lake.call(table, f"create_savepoint(path => '{path}', commit_time => '{instant}')")
    for n in range(50, 60):
        lake.commit(table, lake.changes(DDL, ("u", f"{n:03}", 0, n)))
    maintain(lake.open(table), table)

    lake.call(table, f"rollback_to_savepoint(path => '{path}', instant_time => '{instant}')")
    lake.open(table).check_config(table)  # its version, too
    assert (lake.rows(table, "id", "v"), lake.open(table).checkpoint()) == before


@pytest.mark.spark
@pytest.mark.parametrize("finisher", ["run", "maintain"])
def test_a_killed_compaction_is_finished(lake: "Lake", finisher: str) -> None:
    """Planned, begun, with half a file on disk; then a run committed: the next upkeep finishes it."""
    table = lake.table(f"killed_{finisher}", type="mor", buckets=1)
    fill(lake, table, 4)
    begin_compaction(lake, table)
    lake.commit(table, lake.changes(DDL, ("u", "500", 0, 500)), keeps_up=False)
    before = (lake.rows(table, "id", "v"), lake.open(table).checkpoint())

    stored = lake.open(table)
    assert plan_upkeep(stored, table).compacted_log_files == 3
    if finisher == "run":
        keep_up(stored, table)
    else:
        maintain(stored, table)

    assert (lake.rows(table, "id", "v"), lake.open(table).checkpoint()) == before
    client = lake.open(table).client
    assert client is not None
    assert client.getActiveTimeline().filterPendingCompactionTimeline().empty()
    assert any(name.endswith(".commit") for name in timeline(lake, table))
    assert maintain(lake.open(table), table).compacted_log_files <= 1  # that of the run in between
    assert lake.rows(table, "id", "v") == before[0]


def begin_compaction(lake: "Lake", table: TableConfig) -> None:
    """Leave the files of a compaction that was killed while it wrote."""
    path = lake.path(table)
    options: dict[str, Any] = {
        **hudi_options(table, ["id"], "upsert"), "hoodie.compact.inline.max.delta.commits": "1"
    }  # fmt: skip
    with open_services(lake.spark, path, options) as services:
        option = lake.spark._jvm.org.apache.hudi.common.util.Option  # noqa: SLF001  pyspark's way to Java
        instant = services.client.scheduleCompaction(option.empty()).get()
    home = timeline_of(path)
    (home / f"{instant}.compaction.inflight").touch()
    group = base_files(lake, table)[0].name.split("_")[0]
    half = f"{group}_0-1-2_{instant}.parquet"
    Path(path, half).write_bytes(b"PAR1 half")
    markers = Path(path, ".hoodie", ".temp", instant)
    markers.mkdir(parents=True)
    (markers / f"{half}.marker.CREATE").touch()


# --- the price of a read -----------------------------------------------------------------------


def costs(lake: "Lake", table: TableConfig) -> set[ReadCost]:
    """Return what a read merges, by Hudi's classes and by the files."""
    return {lake.open(table).read_cost(), OfflineTable(lake.path(table), lake.hadoop).read_cost()}


def log_files(lake: "Lake", table: TableConfig) -> list[Path]:
    """List the log files."""
    return sorted(file for file in Path(lake.path(table)).rglob(".*.log.*") if file.suffix != ".crc")


@pytest.mark.spark
def test_a_table_is_compacted_when_reads_merge_a_share_of_its_bytes(lake: "Lake") -> None:
    """Its snapshot reads no log file after such a commit, long before the tenth, and holds the same rows."""
    table = lake.table("share", type="mor", compact_at=0.1)
    write_large(lake, table, 4_000)
    write_large(lake, table, 100)
    (cost,) = costs(lake, table)
    assert cost.log_files == len(log_files(lake, table)) == 2
    assert cost.log_bytes == total_bytes(log_files(lake, table))
    assert cost.base_bytes == total_bytes(base_files(lake, table))
    assert cost.log_bytes < 0.1 * cost.base_bytes
    write_large(lake, table, 1_200)
    assert costs(lake, table) == {ReadCost()}
    assert Counter(value for _, value in lake.rows(table, "id", "v")) == {0: 2_800, 2: 1_200}


@pytest.mark.spark
def test_a_small_table_and_one_without_a_share_are_compacted_by_commits(lake: "Lake") -> None:
    """Log files below 1 MB stay, whatever their share, and without `compact_at` all of them do."""
    small = lake.table("small", type="mor", compact_at=0.1)
    fill(lake, small, 5, keeps_up=True)
    (cost,) = costs(lake, small)
    assert cost.log_bytes > 0.1 * cost.base_bytes
    off = lake.table("off", type="mor")
    write_large(lake, off, 4_000)
    write_large(lake, off, 4_000)
    (cost,) = costs(lake, off)
    assert cost.log_bytes > cost.base_bytes
    hudi = attrs.evolve(off, target=attrs.evolve(off.target, compact_at=0.1), hudi={COMPACT: "false"})
    keep_up(lake.open(hudi), hudi)
    assert costs(lake, hudi) == {cost}


@pytest.mark.spark
def test_the_base_files_of_quiet_partitions_are_found_after_archiving(lake: "Lake") -> None:
    """A change of a partition whose base file no active commit names is compared with that file."""
    archiving = {"hoodie.keep.min.commits": "4", "hoodie.keep.max.commits": "5"}
    target = lake.table("quiet", type="mor", buckets=1, partition_by=("p",), hive_style_partitions=True)
    table = attrs.evolve(target, hudi=archiving)
    ddl, keys = "id int not null, p string not null, v int", ("id", "p")
    rows = [("u", "000", key, part, 0) for key in range(50) for part in "ab"]
    lake.commit(table, lake.changes(ddl, *rows), keys)
    for n in range(1, 9):
        lake.commit(table, lake.changes(ddl, ("u", f"{n:03}", 0, "a", n)), keys)
        maintain(lake.open(table), table)
    assert "p=b" not in {file.path.split("/")[0] for c in lake.open(table).commits() for file in c.files}
    lake.commit(table, lake.changes(ddl, ("u", "100", 0, "b", 100)), keys)
    (quiet,) = Path(lake.path(table), "p=b").glob("*.parquet")
    assert {cost.base_bytes for cost in costs(lake, table)} == {quiet.stat().st_size}


def write_large(lake: "Lake", table: TableConfig, count: int) -> None:
    """Commit rows of 1,000 characters that do not repeat, with the number of the commit."""
    run = lake.runs
    rows = lake.changes("id int not null, v int", *(("u", f"{run:03}", key, run) for key in range(count)))
    lake.commit(table, rows.selectExpr("*", TEXT))
