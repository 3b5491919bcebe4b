"""A rewritten table has the properties of a new one and its account; cleaning removes its old files."""

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from ingest.errors import RebuildError, TableChangedError
from ingest.hudi.metaclient import PAYLOAD
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.storage.exchange import Folders
from ingest.hudi.upkeep.maintain import maintain
from ingest.hudi.upkeep.rebuild import Rewrite, rewrite, rewrite_copy, set_table_properties
from tests.hudi.checks import check_files
from tests.hudi.conftest import VERSION

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark

DDL = "id int not null, r string, q int, v int"
PARTED = {"partition_by": ("r", "q"), "index": "global_simple"}
INDEXED = {**PARTED, "index": "global_record"}
CASES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "flat": ({"type": "mor", **PARTED}, {}),
    "parted": ({}, PARTED),
    "named": ({"type": "mor", **PARTED}, {**PARTED, "hive_style_partitions": True}),
    "unnamed": ({**PARTED, "hive_style_partitions": True}, PARTED),
    "nested": ({**PARTED, "partition_by": ("r",)}, PARTED),
    "outer": (PARTED, {**PARTED, "partition_by": ("r",)}),
    "turned": (PARTED, {**PARTED, "partition_by": ("q", "r")}),
    "shared": ({**PARTED, "partition_by": ("q",)}, {**PARTED, "partition_by": ("v",)}),
    "indexed": (PARTED, INDEXED),
    "moved": ({**INDEXED, "partition_by": ("r",)}, {**INDEXED, "type": "mor"}),
    "unindexed": ({"type": "mor", **INDEXED}, {}),
}


def properties(lake: "Lake", table: "TableConfig") -> set[str]:
    """Return the lines of a table's properties, without those that depend on its name or its past.

    A metadata table that was removed leaves its properties, empty.
    """
    lines = Path(lake.path(table), ".hoodie", "hoodie.properties").read_text().splitlines()
    past = ("hoodie.table.index.defs.path", "hoodie.table.metadata.partitions")
    other = ("#", "hoodie.table.name", "hoodie.table.checksum", *past)
    return {line for line in lines if not line.startswith(other)}


@pytest.mark.parametrize("case", CASES)
def test_a_rewritten_table_is_as_a_new_one(lake: "Lake", case: str) -> None:
    """Rows, properties, pruned reads; later commits change rows, and cleaning removes the old files."""
    before, after = CASES[case]
    old = lake.table(case, retain_commits=1, **before)
    new = lake.table(case, retain_commits=1, **after)
    lake.commit(old, lake.changes(DDL, *(("c", "10", key, f"r{key % 2}", key % 3, 0) for key in range(12))))
    lake.commit(old, lake.changes(DDL, ("u", "11", 1, "r1", 1, 1)))
    stored, rows = lake.open(old), lake.rows(old, "id", "r", "q", "v")
    last = stored.checkpoint()
    assert last is not None
    files = {file.name for file in Path(lake.path(old)).rglob("*.parquet")}
    frame = stored.rows().selectExpr("_cdc_op", "_cdc_position", "coalesce(id, 0) as id", "r", "q", "v")
    home = Path(lake.path(old))
    copy = home.parent / "_rebuild" / case
    committed = rewrite_copy(stored, Rewrite(frame, new, ("id",), last), Folders(home, copy), lambda: None)

    assert lake.rows(new, "id", "r", "q", "v") == rows
    assert committed.next_offsets == last.next_offsets
    assert lake.open(new).checkpoint() == committed
    assert not copy.exists()
    fresh = attrs.evolve(new, name=f"{case}_fresh")
    lake.commit(fresh, lake.changes(DDL, ("c", "10", 1, "r1", 1, 1)))
    assert properties(lake, new) == properties(lake, fresh)
    for number in range(3):
        lake.commit(new, lake.changes(DDL, ("u", f"2{number}", 1, "r1", 1, number)), keeps_up=False)
    maintain(lake.open(new), new)
    assert not files & {file.name for file in home.rglob("*.parquet")}
    assert lake.rows(new, "id", "v")[:2] == [(0, 0), (1, 2)]
    pruned = lake.frame(new).where("r = 'r1' and q = 1").select("id").collect()
    assert sorted(row["id"] for row in pruned) == [1, 7]


def test_a_savepoint_refuses_other_partitions(lake: "Lake") -> None:
    """Its files have to stay, in folders that the new partitions do not have.  The table is as before."""
    old = lake.table("saved", **PARTED)
    lake.commit(old, lake.changes(DDL, *(("c", "10", key, f"r{key % 2}", key % 3, 0) for key in range(12))))
    stored = lake.open(old)
    last = stored.checkpoint()
    assert last is not None
    lake.call(old, f"create_savepoint(path => '{lake.path(old)}', commit_time => '{last.instant}')")
    stored.refresh()
    home = Path(lake.path(old))
    new = lake.table("saved", **{**PARTED, "partition_by": ("r",)})
    rewritten = Rewrite(stored.rows(), new, ("id",), last)
    with pytest.raises(RebuildError, match="a savepoint keeps files"):
        rewrite_copy(stored, rewritten, Folders(home, home.parent / "_rebuild" / "saved"), lambda: None)

    assert len(lake.rows(old, "id")) == 12


VERSIONS = ((6, 9), (9, 6), (8, 6)) if VERSION == 6 else ((9, 8), (8, 9))
"""From one version to another; only a JVM in UTC writes version 6."""


@pytest.mark.parametrize(
    "target", [{"type": "cow"}, {"type": "mor"}, {"type": "mor", **INDEXED}], ids=["cow", "mor", "indexed"]
)
@pytest.mark.parametrize(("before", "after"), VERSIONS)
def test_a_table_gets_another_version_with_its_history(
    lake: "Lake", target: dict[str, Any], before: int, after: int
) -> None:
    """Archived and active accounts, deletes, the order of late changes; the old folder changes in no file."""
    old = attrs.evolve(lake.table("other", table_version=before, **target), hudi=lake.SHORT_MEMORY)
    new = attrs.evolve(old, target=attrs.evolve(old.target, table_version=after))
    for run in range(9):
        rows = [("u", f"{run:02}", key, "r", 0, run) for key in range(run % 3 + 1)]
        lake.commit(old, lake.changes(DDL, *rows, ("d", f"{run:02}", 3, None, None, None)))
    stored, home = lake.open(old), Path(lake.path(old))
    history, found, last = stored.history(100), lake.rows(old, "id", "v"), stored.checkpoint()
    assert last is not None
    assert stored.has_archive()
    with pytest.raises(TableChangedError, match=rf"table_version: found {after}, but .* with {before}"):
        stored.check_config(new)
    kept = home.parent / "kept"
    shutil.copytree(home, kept)
    frame = stored.rows().selectExpr("_cdc_op", "_cdc_position", "coalesce(id, 0) as id", "r", "q", "v")
    folders = Folders(home, home.parent / "_rebuild" / "other")

    def check() -> None:
        assert contents(home) == contents(kept)

    committed = rewrite_copy(stored, Rewrite(frame, new, ("id",), last), folders, check)

    assert lake.rows(new, "id", "v") == found
    assert lake.open(new).history(100) == (committed, *history)
    lake.open(new).check_config(new)
    assert OfflineTable(lake.path(new), lake.hadoop).checkpoint() == committed
    has_payload = f"hoodie.compaction.payload.class={PAYLOAD}" in properties(lake, new)
    assert has_payload or after > 6, "Hudi 0.15.0 reads no log file"
    late, newer = ("u", "00", 0, "r", 0, -1), ("u", "90", 1, "r", 0, 90)
    for batch in ([late, newer], [("d", "91", 1, None, None, None), ("u", "92", 2, "r", 0, 92)]):
        lake.commit(new, lake.changes(DDL, *batch))
    maintain(lake.open(new), new)
    assert lake.rows(new, "id", "v") == [(0, 8), (2, 92)]
    assert check_files(lake, new).outcome == "sound"


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_a_table_without_rows_is_rewritten(lake: "Lake") -> None:
    """All of them were deleted; the account stays, and the next commit goes to the new buckets."""
    old = lake.table("empty")
    lake.commit(old, lake.changes(DDL, ("c", "10", 1, "r", 1, 1)))
    lake.commit(old, lake.changes(DDL, ("d", "11", 1, None, None, None)))
    stored, new = lake.open(old), lake.table("empty", buckets=5)
    last = stored.checkpoint()
    assert last is not None
    frame = stored.rows().selectExpr("_cdc_op", "_cdc_position", "coalesce(id, 0) as id", "r", "q", "v")
    committed = rewrite(stored, Rewrite(frame, new, ("id",), last))

    assert committed.next_offsets == last.next_offsets
    lake.commit(new, lake.changes(DDL, *(("c", "20", key, "r", 1, key) for key in range(9))))
    assert lake.rows(new, "id", "v") == [(key, key) for key in range(9)]


def test_readers_find_whole_properties_at_every_moment(lake: "Lake") -> None:
    """While they are changed, and after a change of Hudi's own was killed before the file was there."""
    table = lake.table("whole")
    lake.commit(table, lake.changes(DDL, ("c", "10", 1, "r", 1, 1)))
    stored, home = lake.open(table), Path(lake.path(table), ".hoodie")
    file, sizes = home / "hoodie.properties", set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            sizes.add(file.stat().st_size if file.exists() else 0)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for number in range(30):
        set_table_properties(stored, {"hoodie.table.create.note": str(number % 2)})
    done.set()
    watcher.join()
    assert min(sizes) > len("hoodie.table.create.note")
    assert len(sizes) <= 2  # without the note, and with it

    file.rename(home / "hoodie.properties.backup")
    (home / ".hoodie.properties.crc").unlink(missing_ok=True)
    set_table_properties(lake.open(table), {"hoodie.table.create.note": "7"})
    assert "hoodie.table.create.note=7" in file.read_text()
    assert [path.name for path in home.glob("*.properties*")] == ["hoodie.properties"]
    assert lake.rows(table, "id", "v") == [(1, 1)]


def test_no_account_is_written_between_key_and_rows(lake: "Lake") -> None:
    """A rebuild that was killed after it had set the key: `ingest offsets set` is refused, too."""
    table = lake.table("between")
    lake.commit(table, lake.changes(DDL, ("c", "10", 1, "r", 1, 1)))
    stored = lake.open(table)
    set_table_properties(stored, {"hoodie.table.recordkey.fields": "id,q"})
    with pytest.raises(
        TableChangedError, match=r"key.columns: found id,q, but the table was created with id"
    ):
        stored.check_key(table, stored.key_columns())
