"""Damage in the lake is an error of its own, never older rows or a new table."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from ingest.errors import IngestError, LakeError

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
    for file in (home / ".hoodie" / "timeline").iterdir():
        if file.is_file():
            file.unlink()


def start_of_a_run(lake: "Lake", table: "TableConfig") -> None:
    """Do the first steps of a run."""
    stored = lake.open(table)
    stored.check_file(table)
    stored.check_storage(table.name)


DAMAGES: dict[str, tuple[str, Callable[[Path], None]]] = {
    "data file deleted": ("cow", lambda home: newest(home, "*.parquet").unlink()),
    "data file cut": ("cow", lambda home: halve(newest(home, "*.parquet"))),
    "log file deleted": ("mor", lambda home: newest(home, ".*.log.*[0-9]").unlink()),
    "log file cut": ("mor", lambda home: halve(newest(home, ".*.log.*[0-9]"))),
    "timeline cleared": ("cow", clear_timeline),
    "timeline folder deleted": ("mor", lambda home: shutil.rmtree(home / ".hoodie" / "timeline")),
    "properties emptied": ("cow", lambda home: empty(home / ".hoodie" / "hoodie.properties")),
    "properties garbled": ("mor", lambda home: garble(home / ".hoodie" / "hoodie.properties")),
    "commit garbled": ("cow", lambda home: garble(newest(home / ".hoodie" / "timeline", "*_*.commit"))),
    "commit emptied": ("mor", lambda home: empty(newest(home / ".hoodie" / "timeline", "*_*.deltacommit"))),
    "commit's checksum wrong": (
        "cow",
        lambda home: newest(home / ".hoodie" / "timeline", "*_*.commit").write_bytes(b"\x00garbled"),
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


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_table_that_is_cleaned_compacted_archived_and_rewritten_is_whole(lake: "Lake", kind: str) -> None:
    """Files of older versions go; those that readers need stay."""
    table = attrs.evolve(lake.table("whole", type=kind, buckets=2), hudi=lake.SHORT_MEMORY)
    for run in range(9):
        rows = lake.changes(DDL, *(("u", f"{run:02}", key, run) for key in range(run % 3 + 1)))
        lake.commit(table, rows)
        lake.open(table).check_storage(table.name)
    stored = lake.open(table)
    checkpoint = stored.checkpoint()
    assert checkpoint is not None
    stored.commit(stored.rows(), table, ["id"], "overwrite", attrs.evolve(checkpoint, run_id="rewrite"))

    lake.open(table).check_storage(table.name)
    assert lake.rows(table, "id", "v") == [(0, 8), (1, 8), (2, 8)]
