"""Damage in the lake is an error of its own, never older rows or a new table."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from ingest.errors import IngestError, LakeError
from ingest.hudi.key_check import check_keys
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.options import hudi_options
from ingest.hudi.storage.folder import UnclearFilesError
from tests.hudi.checks import check_files
from tests.hudi.conftest import entry_of, timeline_of

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DDL = "id int not null, v int"


def newest(folder: Path, pattern: str) -> Path:
    """Return the newest file that a pattern matches."""
    return max(folder.glob(pattern), key=lambda file: (file.stat().st_mtime_ns, file.name))


def empty(file: Path) -> None:
    """Cut a file to nothing, with its checksum."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(b"")


def garble(file: Path) -> None:
    """Overwrite a file with something else."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(b"\x00garbled")


def halve(file: Path) -> None:
    """Cut a file in half."""
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def clear_timeline(home: Path) -> None:
    """Delete the files of the timeline."""
    for file in timeline_of(home).glob("[.0-9]*"):
        if file.is_file() and "properties" not in file.name:
            file.unlink()


def start_of_a_run(lake: "Lake", table: "TableConfig") -> None:
    """Do the first steps of a run."""
    stored = lake.open(table)
    stored.check_config(table)
    stored.check_storage(table.name)


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "data file deleted": ("cow", lambda home: newest(home, "*.parquet").unlink()),
    "data file cut": ("cow", lambda home: halve(newest(home, "*.parquet"))),
    "log file deleted": ("mor", lambda home: newest(home, ".*.log.*[0-9]").unlink()),
    "log file cut": ("mor", lambda home: halve(newest(home, ".*.log.*[0-9]"))),
    "timeline cleared": ("cow", clear_timeline),
    "timeline folder deleted": ("mor", lambda home: shutil.rmtree(timeline_of(home))),
    "properties emptied": ("cow", lambda home: empty(home / ".hoodie" / "hoodie.properties")),
    "properties garbled": ("mor", lambda home: garble(home / ".hoodie" / "hoodie.properties")),
    "commit garbled": ("cow", lambda home: garble(newest(timeline_of(home), "*.commit"))),
    "commit emptied": ("mor", lambda home: empty(newest(timeline_of(home), "*.deltacommit"))),
    "commit's checksum wrong": (
        "cow",
        lambda home: newest(timeline_of(home), "*.commit").write_bytes(b"\x00garbled"),
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_permanent_and_named(lake: "Lake", damage: str) -> None:
    """A run and a status find it before they read or write anything; the exit code is not 'try again'."""
    kind, do = DAMAGES[damage]
    table = lake.table("damaged", type=kind, buckets=1)
    for position in ("1", "2"):
        lake.commit(table, lake.changes(DDL, ("c", position, 1, int(position))))
    do(Path(lake.path(table)))

    with pytest.raises(IngestError) as broken:
        start_of_a_run(lake, table)

    assert isinstance(broken.value, LakeError), broken.value
    assert broken.value.exit_code == 1
    check = check_files(lake, table)
    assert (check.outcome, check.exit_code) == ("damaged", 1)
    assert {finding.check for finding in check.findings} == {"files" if "file" in damage else "timeline"}


def test_a_table_that_a_later_hudi_has_upgraded_is_refused(lake: "Lake") -> None:
    """Neither a run nor a reader of its files guesses what such a version means; nothing is written."""
    table = lake.table("later")
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    properties = Path(lake.path(table)) / ".hoodie" / "hoodie.properties"
    version = f"hoodie.table.version={table.target.table_version}\n"
    text = properties.read_text()
    assert version in text
    garble(properties)
    properties.write_text(text.replace(version, "hoodie.table.version=10\n"))

    with pytest.raises(LakeError, match=r"version of Hudi's table format is unknown here.*10"):
        lake.commit(table, lake.changes(DDL, ("u", "2", 1, 2)))
    with pytest.raises(UnclearFilesError, match="not those of a table of Hudi"):
        OfflineTable(lake.path(table), lake.hadoop).checkpoint()
    assert "hoodie.table.version=10\n" in properties.read_text()


@pytest.mark.parametrize("kind", [pytest.param("cow", marks=pytest.mark.pairs), "mor"])
def test_a_table_that_is_cleaned_compacted_archived_and_rewritten_is_whole(lake: "Lake", kind: str) -> None:
    """Files of older versions go; those that readers need stay."""
    table = attrs.evolve(lake.table("whole", type=kind, buckets=2), hudi=lake.SHORT_MEMORY)
    for run in range(9):
        rows = lake.changes(DDL, *(("u", f"{run:02}", key, run) for key in range(run % 3 + 1)))
        lake.commit(table, rows)
        lake.open(table).check_storage(table.name)
    assert check_files(lake, table).outcome == "sound"
    stored = lake.open(table)
    checkpoint = stored.checkpoint()
    assert checkpoint is not None
    stored.commit(stored.rows(), table, ["id"], "overwrite", attrs.evolve(checkpoint, run_id="rewrite"))

    lake.open(table).check_storage(table.name)
    assert check_files(lake, table).outcome == "sound"
    assert lake.rows(table, "id", "v") == [(0, 8), (1, 8), (2, 8)]


def test_an_old_file_that_only_the_archive_names_is_missed(lake: "Lake") -> None:
    """Its commit is long archived; readers show fewer rows without an error."""
    table = attrs.evolve(
        lake.table("old", partition_by=["id"], index="global_simple"), hudi=lake.SHORT_MEMORY
    )
    for run in range(1, 7):
        lake.commit(table, lake.changes(DDL, ("c", f"{run:02}", min(run, 2), run)))
    assert check_files(lake, table).outcome == "sound"
    (data,) = (Path(lake.path(table)) / "1").glob("*.parquet")
    data.unlink()

    check = check_files(lake, table)

    assert lake.rows(table, "id") == [(2,)]
    assert [data.name in finding.problem for finding in check.findings] == [True]


def test_a_commit_removed_from_the_timeline_is_a_hole_in_the_offsets(lake: "Lake") -> None:
    """Its rows are missing where no later commit rewrote their file."""
    table = lake.table("hole", buckets=1)
    instants = []
    for run in range(1, 4):
        rows, operation = lake.changes(DDL, ("c", f"{run}", run, run)), lake.operation(table)
        entry = attrs.evolve(entry_of(run), start_offsets=entry_of(run - 1).next_offsets if run > 1 else {})
        committed = lake.open(table).commit(rows, table, ["id"], operation, entry)
        instants.append(str(committed.instant))
    assert check_files(lake, table).outcome == "sound"
    timeline = timeline_of(lake.path(table))
    remove_commit(timeline, instants[1])

    stray, *problems = (str(finding) for finding in check_files(lake, table).findings)

    assert f"files of commit {instants[1]} are in the table" in stray
    assert len(problems) == 2
    assert f"{instants[2]}, partition 0: starts at 20, and commit {instants[0]} ended at 10" in problems[0]
    assert "`ingest offsets set hole --to 0=10`" in problems[0]
    remove_commit(timeline, instants[2])
    problems = [str(finding) for finding in check_files(lake, table).findings]
    assert [instants[n] in problem for n, problem in enumerate(problems, 1)] == [True, True]


def remove_commit(timeline: Path, instant: str) -> None:
    """Delete a commit's files in the timeline."""
    for file in timeline.glob(f"*{instant}*"):
        file.unlink()


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_key_of_two_rows_is_found(lake: "Lake", kind: str) -> None:
    """Another writer inserted rows without looking for their keys."""
    table = lake.table("doubled", type=kind, buckets=1)
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1), ("c", "1", 2, 2), ("c", "1", 3, 3)))
    assert check_keys(lake.open(table)) == (3, ())
    again = lake.changes(DDL, ("c", "2", 1, 1), ("c", "2", 2, 2))
    options = hudi_options(table, ["id"], "load") | {
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.index.type": "SIMPLE",
    }
    again.write.format("hudi").options(**options).mode("append").save(lake.path(table))

    rows, findings = check_keys(lake.open(table))

    assert rows == 5
    (finding,) = findings
    assert finding.problem.startswith("2 keys have 4 rows: ")
    assert '{"id":1} (2 rows)' in finding.problem


def test_rows_that_cannot_be_read_are_a_finding(lake: "Lake") -> None:
    """The file has its size, and other bytes."""
    table = lake.table("scrambled", buckets=1)
    lake.commit(table, lake.changes(DDL, ("c", "1", 1, 1)))
    data = newest(Path(lake.path(table)), "*.parquet")
    data.with_name(f".{data.name}.crc").unlink()
    data.write_bytes(bytes(data.stat().st_size))

    rows, findings = check_keys(lake.open(table))

    assert rows is None
    assert "cannot be read" in findings[0].problem
    assert check_files(lake, table).outcome == "sound"
