"""Maintenance of a table: a kill in the middle of it, the rows of a compaction, the versions that stay."""

import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import attrs
import pytest

from ingest.hudi.upkeep.maintain import maintain
from ingest.hudi.upkeep.services import Upkeep
from ingest.names import Instant
from ingest.tables import TableConfig
from tests.hudi.conftest import Lake
from torture.freezes import stopped
from torture.lake import Watch

if TYPE_CHECKING:
    from ingest.hudi.timeline.ledger import LedgerEntry

pytestmark = pytest.mark.spark

DDL = "id int not null, v int"
Change = tuple[str, str, int, int | None]
"""Operation, position, key, value."""
BATCHES: Sequence[Sequence[Change]] = (
    [("c", "010", key, 0) for key in range(20)],
    [("u", "020", key, 1) for key in range(6)],
    # A delete, an insert, and changes older than the stored ones, which must not win.
    [("d", "030", 1, None), ("c", "030", 20, 2), ("u", "015", 2, -1), ("u", "005", 9, -1)],
    [("u", "040", 3, 3), ("d", "040", 19, None)],
    [("c", "050", 1, 4), ("d", "050", 4, None), ("u", "045", 3, 5), ("u", "025", 20, -1)],
)
MOMENTS = ("compaction.inflight", "commit", "clean.inflight", "log file gone")
"""The files that appear or disappear in maintenance, each a moment to die at."""
POLL_S = 0.001


def newest(batches: Sequence[Sequence[Change]]) -> list[tuple[int, int | None]]:
    """Apply changes in plain Python; return the rows."""
    changes = sorted((change for batch in batches for change in batch), key=lambda change: change[1])
    rows = {key: (op, value) for op, _, key, value in changes}
    return sorted((key, value) for key, (op, value) in rows.items() if op != "d")


def commit(lake: Lake, table: TableConfig, batches: Sequence[Sequence[Change]]) -> list[Instant]:
    """Commit batches without any upkeep; return the instants."""
    return [lake.commit(table, lake.changes(DDL, *batch), keeps_up=False) for batch in batches]


def pending(lake: Lake, table: TableConfig) -> list[str]:
    """List what has begun and not ended in the timeline."""
    client = lake.open(table).client
    assert client is not None
    return [
        str(instant) for instant in client.getActiveTimeline().filterInflightsAndRequested().getInstants()
    ]


def look(lake: Lake, table: TableConfig) -> "tuple[list[tuple[int, int | None]], LedgerEntry | None]":
    """Return the rows, by plain Spark, and the checkpoint."""
    return lake.rows(table, "id", "v"), lake.open(table).checkpoint()  # type: ignore[return-value]


def frozen_states(lake: Lake, table: TableConfig, folder: Path) -> Iterator[tuple[str, Lake]]:
    """Maintain a table; yield the lake as a `kill -9` would have left it, once for each of `MOMENTS`."""
    watch, states, moments = Watch(Path(lake.root)), list[tuple[str, Lake]](), list(MOMENTS)
    watch.look()
    thread = threading.Thread(target=lambda: maintain(lake.open(table), table))
    thread.start()
    while thread.is_alive():
        stages = {stage.removeprefix(f"{table.name}: ") for stage in watch.look()}
        moment = next((moment for moment in moments if moment in stages), None)
        if moment is not None:
            moments.remove(moment)
            copy = folder / f"frozen{len(states)}"
            with stopped(lake.spark):
                shutil.copytree(lake.root, copy)
            states.append((moment, attrs.evolve(lake, root=copy)))
        time.sleep(POLL_S)
    thread.join()
    yield from states


def test_a_table_is_right_after_a_kill_at_any_moment_of_its_maintenance(lake: Lake, tmp_path: Path) -> None:
    """Readable at once, with its checkpoint; the next maintenance finishes the work, and runs continue."""
    archiving = {"hoodie.keep.min.commits": "3", "hoodie.keep.max.commits": "4"}
    table = attrs.evolve(lake.table("killed", type="mor", buckets=1, retain_commits=1), hudi=archiving)
    commit(lake, table, BATCHES[:3])
    maintain(lake.open(table), table)
    commit(lake, table, BATCHES[3:])
    before = look(lake, table)
    assert before[0] == newest(BATCHES)

    interrupted: list[str] = []
    for moment, copy in frozen_states(lake, table, tmp_path):
        assert look(copy, table) == before, moment
        interrupted += pending(copy, table)
        maintain(copy.open(table), table)
        assert (look(copy, table), pending(copy, table)) == (before, []), moment
        commit(copy, table, [[("u", "999", 0, 999)]])
        assert copy.rows(table, "id", "v") == [(0, 999), *before[0][1:]], moment
    assert any("compaction" in instant.lower() for instant in interrupted)
    assert look(lake, table) == before


def test_compaction_leaves_the_same_rows(lake: Lake) -> None:
    """Log files with updates, deletes, inserts and late changes become base files, which hold all rows."""
    table = lake.table("logs", type="mor", buckets=2)
    commit(lake, table, BATCHES)
    before = look(lake, table)
    result = maintain(lake.open(table), table)

    assert result.compacted_log_files > 0
    assert look(lake, table) == before
    assert before[0] == newest(BATCHES)
    base_only = lake.spark.read.format("hudi").option("hoodie.datasource.query.type", "read_optimized")
    rows = base_only.load(lake.path(table)).select("id", "v").collect()
    assert sorted((row["id"], row["v"]) for row in rows) == before[0]


@pytest.mark.parametrize("retained", [1, 3])
def test_maintenance_keeps_as_many_versions_as_the_table_file_says(lake: Lake, retained: int) -> None:
    """The last `retain_commits` can be read; only the version before them stays, for readers of it."""
    table = lake.table(f"versions{retained}", buckets=1, retain_commits=retained)
    instants = commit(lake, table, BATCHES)
    result = maintain(lake.open(table), table)

    files = {file.name.rpartition("_")[2] for file in Path(lake.path(table)).glob("*.parquet")}
    assert files == {f"{instant}.parquet" for instant in instants[-retained - 1 :]}
    assert result.removed_files == len(instants) - retained - 1
    oldest = len(instants) - retained
    reader = lake.spark.read.format("hudi").option("as.of.instant", instants[oldest])
    rows = reader.load(lake.path(table)).select("id", "v").collect()
    assert sorted((row["id"], row["v"]) for row in rows) == newest(BATCHES[: oldest + 1])
    assert maintain(lake.open(table), table) == Upkeep()
