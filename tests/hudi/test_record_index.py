"""A table with Hudi's record index has the rows of one whose keys are read in each commit."""

import random
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.errors import TableFileError, WriteError
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.options import hudi_options
from ingest.hudi.upkeep.maintain import maintain
from ingest.tables import TableConfig
from tests.hudi.checks import check_files
from tests.hudi.conftest import Lake, entry_of, timeline_of
from tests.hudi.test_options import table_of
from torture.freezes import stopped

pytestmark = pytest.mark.spark
DDL = "id int not null, p string, v int"
SAMPLES = 5
"""Moments of a commit at which it is killed."""
Change = tuple[Any, ...]


def parted(lake: Lake, name: str, index: str = "global_record", **target: Any) -> TableConfig:
    """Make the file of a table with a partition column outside the key."""
    return lake.table(name, index=index, partition_by=("p",), **target)


def batches(seed: int) -> Iterator[list[Change]]:
    """Yield changes of eight keys, which come, move, vanish and return, a third of them older than others."""
    rng, position = random.Random(seed), 0  # noqa: S311  data, no secret
    for _ in range(8):
        batch = []
        for key in rng.sample(range(8), rng.randrange(1, 7)):
            position += 1
            at = rng.randrange(1, position + 1) if rng.random() < 0.35 else position
            gone = rng.random() < 0.3
            batch.append(
                ("d", f"{at:06d}", key, None, None)
                if gone
                else ("u", f"{at:06d}", key, rng.choice("xyz"), position)
            )
        yield batch


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_it_has_the_rows_of_a_table_without_it(lake: Lake, kind: str) -> None:
    """After each commit, among them older changes that come late, and commits after compaction."""
    tables = [parted(lake, index, index, type=kind) for index in ("global_simple", "global_record")]
    for number, batch in enumerate(batches(17)):
        for table in tables:
            lake.commit(table, lake.changes(DDL, *batch))
            if number == 4:
                maintain(lake.open(table), table)
        simple, record = (lake.rows(table, "id", "p", "v") for table in tables)
        assert record == simple
        assert len({key for key, *_ in record}) == len(record)
    assert check_files(lake, tables[1]).outcome == "sound"
    metadata = Path(lake.path(tables[1]), ".hoodie", "metadata")
    assert {path.name for path in metadata.iterdir()} == {".hoodie", "files", "record_index"}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_one_global_index_may_follow_the_other(lake: Lake, kind: str) -> None:
    """The files are the same: the next commit makes the index, or removes it."""
    table = parted(lake, "either", "global_simple", type=kind)
    expected = {}
    for number, index in enumerate(("global_simple", "global_record", "global_simple", "global_record")):
        table = attrs.evolve(table, target=attrs.evolve(table.target, index=index))
        lake.open(table).check_config(table)
        makes_index = bool(number) and index == "global_record"
        assert lake.open(table).lacks_index(table.target) == makes_index
        for at in (2 * number, 2 * number + 1):
            moved = {key: ("xy"[(key + at) % 2], at) for key in range(at % 3, 6)}
            expected |= moved
            lake.commit(
                table, lake.changes(DDL, *(("u", f"{at:03d}", key, *row) for key, row in moved.items()))
            )
        assert lake.rows(table, "id", "p", "v") == [(key, *expected[key]) for key in sorted(expected)]
        for stored in (lake.open(table), OfflineTable(lake.path(table), lake.hadoop)):
            assert stored.timeline is not None
            assert stored.timeline.properties.has_record_index == (index == "global_record")
            if kind == "mor":  # what the next commit reads
                size = 0 if index == "global_record" else stored.data_size()
                assert stored.next_bytes(table.target) == size


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_commit_that_failed_leaves_no_key(lake: Lake, kind: str) -> None:
    """An error in a row, before a file is written.  The kills below leave files."""
    table = parted(lake, "failed", type=kind)
    for at in (1, 2):
        lake.commit(table, lake.changes(DDL, *(("u", f"{at}", key, "x", at) for key in range(4))))
    good = lake.changes(DDL, *(("u", "3", key, "y", 3) for key in range(2, 9)))
    bad = good.selectExpr("_cdc_op", "_cdc_position", "id", "p", "if(id = 8, raise_error('boom'), v) as v")
    with pytest.raises(WriteError, match="boom"):
        lake.open(table).commit(bad, table, ["id"], "upsert", entry_of(9))
    assert lake.rows(table, "id", "v") == [(key, 2) for key in range(4)]

    lake.commit(table, lake.changes(DDL, *(("u", "4", key, "z", 4) for key in range(3, 6))))

    assert lake.rows(table, "id", "p", "v") == [
        *((key, "x", 2) for key in range(3)),
        *((key, "z", 4) for key in range(3, 6)),
    ]


def test_a_damaged_index_is_made_again_by_way_of_the_other(lake: Lake) -> None:
    """What docs/tables.md says of a damaged metadata table."""
    table = parted(lake, "damaged")
    for at in (1, 2):
        lake.commit(table, lake.changes(DDL, *(("u", f"{at}", key, "x", at) for key in range(4))))
    files = list(Path(lake.path(table), ".hoodie/metadata/record_index").rglob("*.hfile"))
    assert files
    for file in files:
        file.unlink()
    simple = attrs.evolve(table, target=attrs.evolve(table.target, index="global_simple"))
    lake.commit(simple, lake.changes(DDL, ("u", "3", 1, "y", 3)))
    lake.commit(table, lake.changes(DDL, ("u", "4", 2, "y", 4)))

    assert lake.rows(table, "id", "p", "v") == [(0, "x", 2), (1, "y", 3), (2, "y", 4), (3, "x", 2)]


def test_a_table_file_cannot_turn_its_metadata_table_off() -> None:
    """The index is a part of it."""
    table = table_of({"hoodie.metadata.enable": "false"}, partition_by=("p",), index="global_record")
    with pytest.raises(TableFileError, match=r"hoodie\.metadata\.enable"):
        hudi_options(table, ["id"], "upsert")


def snapshots(lake: Lake, table: TableConfig, work: Callable[[], object]) -> list[Path]:
    """Do some work.  Return the lake as a `kill -9` would have left it at changes of both timelines."""
    home = Path(lake.path(table))
    metadata = home / ".hoodie" / "metadata"
    seen, copies = set[frozenset[Path]](), list[Path]()
    thread = threading.Thread(target=work)
    thread.start()
    while thread.is_alive():
        folders = (timeline_of(home), timeline_of(metadata), metadata / "record_index", metadata / "files")
        state = frozenset(file for folder in folders for file in folder.glob("[0-9a-z]*"))
        if state not in seen:
            seen.add(state)
            copies.append(lake.root.parent / f"frozen{len(copies)}")
            with stopped(lake.spark):
                shutil.copytree(lake.root, copies[-1])
        time.sleep(0.001)
    thread.join()
    return copies


@pytest.mark.parametrize(("kind", "before"), [("cow", 1), ("mor", 1), ("mor", 2)])
def test_a_kill_at_any_moment_keeps_the_index_with_the_rows(lake: Lake, kind: str, before: int) -> None:
    """In the commit that makes the index, and in a later one: the same batch again leaves each key once."""
    table = parted(lake, "killed", type=kind)
    for at in range(before):
        lake.commit(table, lake.changes(DDL, *(("u", f"{at}", key, "x", at) for key in range(8))))
    rows = lake.rows(table, "id", "p", "v")
    batch = [("d", "5", 0, None, None), *(("u", "5", key, "xyz"[key % 3], 5) for key in range(4, 12))]
    after = sorted([*rows[1:4], *((key, "xyz"[key % 3], 5) for key in range(4, 12))])

    copies = snapshots(lake, table, lambda: lake.commit(table, lake.changes(DDL, *batch), keeps_up=False))

    assert lake.rows(table, "id", "p", "v") == after
    found = set()
    step = max(1, len(copies) // SAMPLES)
    for copy in copies[-1::-step]:
        killed = Lake(lake.spark, copy)
        if Path(killed.path(table), ".hoodie/hoodie.properties").exists():  # only its backup, for a moment
            found.add(killed.rows(table, "id", "p", "v") == after)
            assert killed.rows(table, "id", "p", "v") in (rows, after)
        killed.commit(table, lake.changes(DDL, *batch))
        assert killed.rows(table, "id", "p", "v") == after
        killed.commit(table, lake.changes(DDL, *(("u", "6", key, "z", 6) for key in range(12))))
        assert killed.rows(table, "id", "p", "v") == [(key, "z", 6) for key in range(12)]
    assert found == {False, True}


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_restored_savepoint_restores_the_index(lake: Lake, kind: str) -> None:
    """With the settings of docs/offsets-and-deletes.md: keys that came, moved or vanished are as before."""
    table = parted(lake, "restored", type=kind)
    for at in (1, 2):
        lake.commit(table, lake.changes(DDL, *(("u", f"{at}", key, "x", at) for key in range(4))))
    saved = lake.open(table).checkpoint()
    assert saved is not None
    path = lake.path(table)
    lake.call(table, f"create_savepoint(path => '{path}', commit_time => '{saved.instant}')")
    batch = [("d", "3", 0, None, None), *(("u", "3", key, "y", 3) for key in range(2, 7))]
    lake.commit(table, lake.changes(DDL, *batch))
    lake.commit(table, lake.changes(DDL, ("u", "4", 7, "y", 4)))
    lake.call(table, f"rollback_to_savepoint(path => '{path}', instant_time => '{saved.instant}')")
    stored = lake.open(table)
    assert stored.timeline is not None
    assert not stored.timeline.properties.has_record_index
    assert lake.rows(table, "id", "p", "v") == [(key, "x", 2) for key in range(4)]

    lake.commit(table, lake.changes(DDL, *(("u", "5", key, "z", 5) for key in (0, 2, 5))))
    lake.commit(table, lake.changes(DDL, *(("u", "6", key, "x", 6) for key in (3, 5, 7))))

    assert lake.rows(table, "id", "p", "v") == [
        (0, "z", 5), (1, "x", 2), (2, "z", 5), (3, "x", 6), (5, "x", 6), (7, "x", 6),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_rolled_back_commit_leaves_the_index(lake: Lake, kind: str) -> None:
    """As Hudi rolls back what a failed service left, and a user a commit."""
    table = parted(lake, "back", type=kind)
    for at in (1, 2):
        lake.commit(table, lake.changes(DDL, *(("u", f"{at}", key, "x", at) for key in range(4))))
    batch = [("d", "3", 0, None, None), *(("u", "3", key, "y", 3) for key in range(2, 7))]
    instant = lake.commit(table, lake.changes(DDL, *batch), keeps_up=False)
    lake.roll_back(table, str(instant))
    assert lake.rows(table, "id", "p", "v") == [(key, "x", 2) for key in range(4)]

    lake.commit(table, lake.changes(DDL, *(("u", "5", key, "z", 5) for key in (0, 2, 5))))

    expected = dict.fromkeys(range(4), ("x", 2)) | dict.fromkeys((0, 2, 5), ("z", 5))
    assert lake.rows(table, "id", "p", "v") == [(key, *expected[key]) for key in sorted(expected)]
