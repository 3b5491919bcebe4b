"""A reject counts as replayed only while the commit that applied it is in the table's history."""

from typing import TYPE_CHECKING

import pytest
from pyspark.sql import functions as F

from ingest.hudi.lake import Lake as Tables
from ingest.hudi.lake_files import LakeFiles
from ingest.hudi.rejects import COLUMNS, commit_rejects, count_open, counting_rows, next_entry
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.names import Partition, Topic
from ingest.settings import LakeSettings
from tests.feeds import feed

if TYPE_CHECKING:
    from ingest.tables import TableConfig
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark


def counted(lake: "Lake", table: "TableConfig") -> int:
    """Count the open rejects, by Spark and from the files."""
    settings = LakeSettings(str(lake.root))
    count = count_open(Tables(lake.spark, settings), feed(table))
    assert LakeFiles(settings, lake.hadoop).count_open(feed(table)) == count
    return count


@pytest.mark.parametrize("resolution", ["replayed", "reread"])
def test_a_rolled_back_resolution_is_open_again(lake: "Lake", resolution: str) -> None:
    """Hudi's rollback takes the rows back; the rejects table is another one, and does not know."""
    table = lake.table("orders")
    first = lake.commit(table, lake.changes("id int not null, v int", ("c", "1", 1, 1)))
    tables = Tables(lake.spark, LakeSettings(str(lake.root)))
    rejects, offsets = tables.rejects(table), {Partition(0): 9}
    values = {"topic": "'s.dbo.t'", "partition": "0", "offset": "5"}
    open_rows = lake.spark.range(1).selectExpr(
        *(f"cast({values.get(name, 'null')} as {ddl}) as `{name}`" for name, ddl in COLUMNS.items())
    )
    commit_rejects(rejects, open_rows, table, LedgerEntry("run-1", Topic("s.dbo.t"), offsets, offsets))
    assert counted(lake, table) == 1
    lake.commit(table, lake.changes("id int not null, v int", ("c", "2", 2, 2)))
    done = open_rows.withColumns({"resolved": F.lit(resolution), "resolved_by": F.lit("run-2")})
    commit_rejects(rejects, done, table, next_entry(rejects, "run-2", "replay", ""))
    assert counted(lake, table) == 0

    newest = lake.open(table).checkpoint()
    assert newest is not None
    lake.roll_back(table, str(newest.instant))

    tables = Tables(lake.spark, LakeSettings(str(lake.root)))
    assert [entry.instant for entry in tables.table(table).history()] == [first]
    assert counted(lake, table) == 1
    rows = counting_rows(tables, table)
    assert rows is not None
    assert rows.select("resolved", "resolved_at", "resolved_by").collect() == [(None, None, None)]
