"""The Iceberg table has the rows of the Hudi table after each commit, and an older state in between."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pytest

from ingest.errors import IcebergError, IcebergUnreachableError, SettingsError
from ingest.settings import IcebergSettings
from ingest.spark.hadoop_settings import UNKNOWN
from tests.hudi.conftest import timeline_of
from tests.places.matrix import TYPES, make_frame

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.iceberg.conftest import BothFaces

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"
SHORT = {
    "hoodie.clean.trigger.max.commits": "1",
    "hoodie.clean.commits.retained": "2",
    "hoodie.keep.min.commits": "3",
    "hoodie.keep.max.commits": "4",
}
"""Options with which a few commits are cleaned and archived."""


def test_every_type_of_column_is_equal_after_each_commit(faces: "BothFaces") -> None:
    """Inserts, updates, deletes and nulls.

    pyiceberg itself reads a null array of structs as an empty one (apache/arrow#38809).  Spark reads it in
    tests/places/test_iceberg.py.
    """
    lake, table = faces.lake, faces.lake.table("types", buckets=1)
    columns = {f"v{number}": kind for number, kind in enumerate(TYPES) if kind.ddl != "array<struct<a:int>>"}
    ddl = {name: kind.ddl for name, kind in columns.items()}
    old = {name: kind.old[0] for name, kind in columns.items()}
    new = {name: kind.new[0] for name, kind in columns.items()}
    for changes in (
        [("c", 1, old), ("c", 2, old), ("c", 3, {})],
        [("u", 1, new), ("d", 2, {}), ("c", 4, old)],
        [("u", 3, new)],
    ):
        lake.commit(table, make_frame(lake, changes, ddl))
        faces.check(table, updated=True)


def test_a_partitioned_table_is_equal_until_its_last_row_is_deleted(faces: "BothFaces") -> None:
    """A value of a partition may have any character.  Spaces and slashes are in the paths of the files."""
    table = faces.lake.table("parts", partition_by=("p",), buckets=1, index="global_simple")
    ddl = "id int not null, p string"
    places = ["a b", "c/d%20", "é=1"]
    rows = [("c", "1", key, place) for key, place in enumerate(places)]
    faces.lake.commit(table, faces.lake.changes(ddl, *rows))
    faces.check(table, updated=True)
    faces.lake.commit(table, faces.lake.changes(ddl, ("u", "2", 0, "c/d%20")))
    faces.check(table, updated=True)
    faces.lake.commit(table, faces.lake.changes(ddl, *(("d", "3", key, None) for key in range(3))))
    faces.check(table, updated=True)
    assert faces.iceberg_rows(table) == []


def test_added_and_widened_columns_are_equal_in_old_files_too(faces: "BothFaces") -> None:
    """Each commit writes one of two files, so the other has the older columns."""
    table = faces.lake.table("evolved", buckets=2)
    old = "id int not null, i int, f float, s decimal(10,2), n struct<a:int>"
    new = "id int not null, i bigint, f double, s decimal(20,2), n struct<a:bigint,b:string>, z string"
    first = [("c", "1", key, 7, 0.5, None, (1,)) for key in range(8)]
    faces.lake.commit(table, faces.lake.changes(old, *first))
    faces.check(table, updated=True)
    faces.lake.commit(table, faces.lake.changes(new, ("u", "2", 0, 2**40, 0.1, None, (2**40, "b"), "z")))
    faces.check(table, updated=True)
    present = faces.iceberg.load(table)
    assert present is not None
    assert [len(list(present.scan().plan_files())), present.schema().find_type("i").__class__.__name__] == [
        2,
        "LongType",
    ]


def test_a_type_that_iceberg_cannot_widen_waits_until_all_files_are_written_again(
    faces: "BothFaces",
) -> None:
    """The Iceberg table stays at the commit before, and the error names the column and the way out."""
    table = faces.lake.table("widened", buckets=2)
    rows = [("c", "1", key, 7) for key in range(8)]
    faces.lake.commit(table, faces.lake.changes(DDL, *rows))
    faces.check(table, updated=True)
    before = faces.iceberg_rows(table)
    faces.lake.commit(table, faces.lake.changes("id int not null, v double", ("u", "2", 0, 0.5)))

    with pytest.raises(IcebergError, match=r"v: int -> double.*`ingest rebuild widened`"):
        faces.iceberg.update(table)
    assert faces.iceberg_rows(table) == before

    again = [("u", "3", key, key / 2) for key in range(8)]
    faces.lake.commit(table, faces.lake.changes("id int not null, v double", *again))
    faces.check(table, updated=True)


def test_snapshots_end_with_the_files_that_hudi_cleans(faces: "BothFaces") -> None:
    """Every snapshot that is left can be read, and so few manifests are left as these need."""
    table = attrs.evolve(faces.lake.table("cleaned", buckets=1), hudi=SHORT)
    for run in range(8):
        faces.lake.commit(table, faces.lake.changes(DDL, ("u", str(run), 1, run)))
        faces.check(table, updated=True)
    present = faces.iceberg.load(table)
    assert present is not None
    seen = [
        present.scan(snapshot_id=snapshot.snapshot_id).to_arrow()["v"].to_pylist()
        for snapshot in present.snapshots()
    ]
    assert seen == [[6], [7]]
    needed = {snapshot.manifest_list for snapshot in present.snapshots()}
    needed |= {item.manifest_path for one in present.snapshots() for item in one.manifests(present.io)}
    metadata = Path(present.location().removeprefix("file://"), "metadata")
    assert {f"file://{file}" for file in metadata.glob("*.avro")} == needed


def test_rows_of_a_commit_that_never_completed_stay_out(faces: "BothFaces") -> None:
    """Its files are there, and no timeline counts them."""
    table = faces.lake.table("killed", buckets=1)
    faces.lake.commit(table, faces.lake.changes(DDL, ("c", "1", 1, 1)))
    faces.check(table, updated=True)
    instant = faces.lake.commit(table, faces.lake.changes(DDL, ("u", "2", 1, 2)))
    (completed,) = timeline_of(faces.lake.path(table)).glob(f"{instant}_*.commit")
    completed.unlink()

    faces.iceberg.update(table)
    assert [row["v"] for row in faces.iceberg_rows(table)] == [1]


def test_two_runs_at_once_leave_one_state(faces: "BothFaces") -> None:
    """Two runs may update an idle table at the same moment."""
    table = faces.lake.table("raced", buckets=1)
    for run in range(3):
        faces.lake.commit(table, faces.lake.changes(DDL, ("u", str(run), run, run)))
        with ThreadPoolExecutor(2) as pool:
            others = [attrs.evolve(faces.iceberg) for _ in range(2)]
            list(pool.map(lambda other: other.update(table), others))
        faces.check(table)


def test_the_first_tables_of_a_run_are_made_at_once(faces: "BothFaces") -> None:
    """They make the catalog and the namespace together."""
    tables = [faces.lake.table(f"first{number}", buckets=1) for number in range(4)]
    for table in tables:
        faces.lake.commit(table, faces.lake.changes(DDL, ("c", "1", 1, 1)))
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(faces.iceberg.update, tables))
    for table in tables:
        faces.check(table)


def test_a_kill_at_any_moment_leaves_the_state_before_or_after(faces: "BothFaces") -> None:
    """A child ends at the first, second, … file that it opens.  The next update completes the state."""
    table = attrs.evolve(faces.lake.table("ended", buckets=1), hudi=SHORT)
    states = []
    for run in range(4):
        faces.lake.commit(table, faces.lake.changes(DDL, ("u", str(run), 1, run)))
        states.append(run)
        for moment in range(1, 200):
            if _update_and_die(faces, table, moment):
                break
            left = faces.iceberg.load(table) and [row["v"] for row in faces.iceberg_rows(table)]
            assert left in ([[run - 1], [run]] if run else [None, [0]])
        else:
            pytest.fail("an update opens no end of files")
        assert moment > 3
        faces.check(table)


def _update_and_die(faces: "BothFaces", table: "TableConfig", moment: int) -> bool:
    """Update in a child that ends when it opens its nth file.  Tell whether it came to its end."""
    child = os.fork()
    if child == 0:  # pragma: no cover  a process without a report
        opened = 0

        def end(event: str, _: Any) -> None:
            nonlocal opened
            opened += event in {"open", "sqlite3.connect", "os.rename", "os.remove"}
            if opened == moment:
                os._exit(9)

        sys.addaudithook(end)
        attrs.evolve(faces.iceberg).update(table)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_what_a_catalog_says_is_told(faces: "BothFaces", tmp_path: Path) -> None:
    """A table of somebody else, a catalog that is away, a catalog without a name."""
    table = faces.lake.table("told", buckets=1)
    faces.lake.commit(table, faces.lake.changes(DDL, ("c", "1", 1, 1)))
    assert faces.iceberg.differences(table) == ("bronze.told is missing in the catalog",)
    faces.iceberg.update(table)

    elsewhere = attrs.evolve(faces.iceberg.files.settings, path=f"{tmp_path}/other")
    other = attrs.evolve(faces.iceberg, files=attrs.evolve(faces.iceberg.files, settings=elsewhere))
    with pytest.raises(IcebergError, match=rf"bronze\.told is not the table of {tmp_path}/other/told"):
        other.update(table)

    (tmp_path / "iceberg").rename(tmp_path / "away")
    away = attrs.evolve(faces.iceberg)
    with pytest.raises(IcebergUnreachableError, match="unable to open database file"):
        away.update(table)

    with pytest.raises(SettingsError, match=r"iceberg\.catalog"):
        attrs.evolve(faces.iceberg, settings=IcebergSettings()).update(table)


def test_a_storage_that_only_spark_reads_has_the_same_iceberg_table(faces: "BothFaces") -> None:
    """By the same addresses of the files, spaces, slashes and percent signs in partitions included."""
    table = faces.lake.table("unknown", partition_by=("p",), buckets=1, index="global_simple")
    by_spark = attrs.evolve(faces.iceberg, files=attrs.evolve(faces.iceberg.files, hadoop=UNKNOWN))
    ddl = "id int not null, p string"
    rows = [("c", "1", key, place) for key, place in enumerate(["a b", "c/d%20", "é=1"])]
    faces.lake.commit(table, faces.lake.changes(ddl, *rows))
    by_spark.update(table)
    faces.check(table)
    faces.lake.commit(table, faces.lake.changes(ddl, ("u", "2", 0, "c/d%20")))
    faces.check(table, updated=True)
    assert by_spark.differences(table) == ()


def test_a_difference_is_found(faces: "BothFaces") -> None:
    """An older commit; a table that another writer has changed."""
    table = faces.lake.table("differs", buckets=1)
    first = faces.lake.commit(table, faces.lake.changes(DDL, ("c", "1", 1, 1)))
    faces.iceberg.update(table)
    second = faces.lake.commit(table, faces.lake.changes(DDL, ("u", "2", 1, 2)))
    newest, old, new = faces.iceberg.differences(table)
    assert newest == f"it has commit {first}, and the newest is {second}"
    assert {old.split()[1], new.split()[1]} == {"lacks", "still"}

    faces.iceberg.update(table)
    present = faces.iceberg.load(table)
    assert present is not None
    present.delete()
    (lacking,) = faces.iceberg.differences(table)
    assert lacking.startswith("it lacks file://")
