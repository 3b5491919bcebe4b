"""What a batch holds in memory decides no row."""

import random
from pathlib import Path
from typing import Any

import attrs
import pytest

from ingest.hudi.upkeep.maintain import maintain
from ingest.tables import TableConfig
from tests.hudi.checks import check_files
from tests.hudi.conftest import Lake, timeline_of

pytestmark = pytest.mark.spark
DDL = "id int not null, v string"
SMALL = {
    "hoodie.logfile.data.block.max.size": "2000",
    "hoodie.memory.merge.max.size": "2000",
}


def count_blocks(lake: Lake, table: TableConfig) -> int:
    """Return the blocks of the log file that has most."""
    logs = (file for file in Path(lake.path(table)).glob(".*.log.*") if file.suffix != ".crc")
    return max(file.read_bytes().count(b"#HUDI#") for file in logs)


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_rows_that_do_not_fit_are_merged_from_disk(lake: Lake, kind: str) -> None:
    """Blocks of a few rows and merges on disk: with deletes and late older changes, and after compaction."""
    rng = random.Random(7)  # noqa: S311  data, no secret
    tables = [lake.table("usual", type=kind), attrs.evolve(lake.table("small", type=kind), hudi=SMALL)]
    for number in range(6):
        batch: list[tuple[Any, ...]] = []
        for key in rng.sample(range(300), 200):
            at, is_gone = rng.randrange(10_000), rng.random() < 0.2
            batch.append(("d" if is_gone else "u", f"{at:06d}", key, None if is_gone else f"text {at} " * 9))
        for table in tables:
            lake.commit(table, lake.changes(DDL, *batch))
            if number == 3:
                maintain(lake.open(table), table)
        usual, small = (lake.rows(table, "id", "v") for table in tables)
        assert usual == small
        assert number == 0 or len(usual) > 100
    if kind == "mor":
        blocks = [count_blocks(lake, table) for table in tables]
        assert blocks[0] == 2, "rows and deletes"
        assert blocks[1] > 10
        assert len(list(timeline_of(Path(lake.path(tables[1]))).glob("*.compaction.requested"))) == 1
    assert check_files(lake, tables[1]).outcome == "sound"
