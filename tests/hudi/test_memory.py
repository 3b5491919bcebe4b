"""What a write or a read holds in memory decides no row."""

import random
from pathlib import Path
from typing import Any, Final

import attrs
import pytest
from py4j.protocol import Py4JJavaError

from ingest.hudi import table as tables_of_hudi
from ingest.hudi.upkeep.maintain import maintain
from ingest.tables import TableConfig
from tests.hudi.checks import check_files
from tests.hudi.conftest import Lake, timeline_of

pytestmark = pytest.mark.spark
DDL = "id int not null, v string, p string"
BUFFER = "hoodie.memory.dfs.buffer.max.size"
SMALL = {
    "hoodie.logfile.data.block.max.size": "2000",
    "hoodie.memory.merge.max.size": "2000",
    "hoodie.memory.compaction.max.size": "2000",
    "hoodie.metadata.max.reader.memory": "2000",
    BUFFER: "2000",
}
KINDS: Final[dict[str, dict[str, Any]]] = {
    "cow": {"type": "cow"},
    "mor": {"type": "mor"},
    "index": {"type": "mor", "index": "global_record", "partition_by": ("p",)},
}


def change(rng: random.Random, key: int) -> tuple[Any, ...]:
    """Return a change of a key at random, a fifth of them deletes."""
    at = rng.randrange(10_000)
    if rng.random() < 0.2:
        return "d", f"{at:06d}", key, None, "xy"[at % 2]
    return "u", f"{at:06d}", key, f"text {at} " * 9, "xy"[at % 2]


def count_blocks(lake: Lake, table: TableConfig) -> int:
    """Return the blocks of the log file that has most."""
    logs = (file for file in Path(lake.path(table)).glob(".*.log.*") if file.suffix != ".crc")
    return max(file.read_bytes().count(b"#HUDI#") for file in logs)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_do_not_fit_are_merged_from_disk(lake: Lake, kind: str, tmp_path: Path) -> None:
    """Blocks of a few rows and merges on disk: with deletes and late older changes, and after compaction."""
    rng = random.Random(7)  # noqa: S311  data, no secret
    places = {name: tmp_path / name for name in ("memory", "metadata")}
    options = SMALL | {f"hoodie.{name}.spillable.map.path": str(place) for name, place in places.items()}
    tables = [
        lake.table("usual", **KINDS[kind]),
        attrs.evolve(lake.table("small", **KINDS[kind]), hudi=options),
    ]
    for number in range(6):
        batch = [change(rng, key) for key in rng.sample(range(300), 200)]
        for table in tables:
            lake.commit(table, lake.changes(DDL, *batch))
            if number == 3:
                maintain(lake.open(table), table)
        usual, small = (lake.rows(table, "id", "v", "p") for table in tables)
        assert usual == small
        assert number == 0 or len(usual) > 100
    if kind == "mor":
        blocks = [count_blocks(lake, table) for table in tables]
        assert blocks[0] == 2, "rows and deletes"
        assert blocks[1] > 10
        assert len(list(timeline_of(Path(lake.path(tables[1]))).glob("*.compaction.requested"))) == 1
    assert places["memory"].exists()
    assert places["metadata"].exists() == (kind == "index")
    assert check_files(lake, tables[1]).outcome == "sound"


def test_rows_that_do_not_fit_are_read_from_disk(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read of log files holds as much as a compaction does."""
    table, spilled = lake.table("read", type="mor"), tmp_path / "spilled"
    for number in range(2):
        changes = (("u", f"{number:06d}", key, "text " * 9, "x") for key in range(999))
        lake.commit(table, lake.changes(DDL, *changes))
    monkeypatch.setattr(tables_of_hudi, "MEMORY", {**SMALL, "hoodie.memory.spillable.map.path": str(spilled)})
    assert lake.open(table).count_rows() == 999
    found = lake.open(table).rows().select("id", "v").orderBy("id").collect()
    assert [tuple(row) for row in found] == [(key, "text " * 9) for key in range(999)]
    assert spilled.exists()


def test_the_buffer_of_a_log_file_is_the_tables_setting(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hudi's default is 16 MiB for each log file: to clear and collect them was half of a count."""
    table = lake.table("logged", type="mor")
    for number in range(2):
        lake.commit(table, lake.changes(DDL, ("u", f"{number:06d}", 1, "text", "x")))
    assert int(tables_of_hudi.MEMORY[BUFFER]) < 2_000_000
    assert lake.open(table).count_rows() == 1
    monkeypatch.setattr(tables_of_hudi, "MEMORY", {**tables_of_hudi.MEMORY, BUFFER: "0"})
    with pytest.raises(Py4JJavaError, match="Buffer size <= 0"):
        lake.open(table).count_rows()
