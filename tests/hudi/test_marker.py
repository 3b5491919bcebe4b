"""The marker of deletes follows the table file, also after the table was created."""

from typing import TYPE_CHECKING

import attrs
import pytest

from ingest.tables import Target

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = [pytest.mark.spark, pytest.mark.pairs]  # the switch itself is in tests/e2e/test_deletes.py


def test_a_table_that_marks_deleted_rows_may_have_been_one_that_removes_them(lake: "Lake") -> None:
    """Hudi keeps the marker of deletes in the table's properties, and passes over the write's option."""
    table = lake.table("turned", type="mor", buckets=1)
    ddl = "_cdc_deleted boolean, id int not null, v int"
    rows = lake.changes(ddl, ("c", "1", False, 1, 1), ("c", "1", False, 2, 2))
    lake.commit(table, rows)
    soft = attrs.evolve(table, target=Target(type="mor", buckets=1, delete="soft"))

    lake.commit(soft, lake.changes(ddl, ("d", "2", True, 1, 1)))
    assert lake.rows(soft, "id", "_cdc_op", "_cdc_deleted") == [(1, "d", True), (2, "c", False)]
    # As after a clean-up by hand: other writers remove rows, and the ledger does not mind.
    lake.spark.sql(f"create table turned_rows using hudi location '{lake.path(soft)}'")
    lake.spark.sql("delete from turned_rows where _cdc_deleted")
    lake.spark.sql("drop table turned_rows")
    assert lake.rows(soft, "id", "v") == [(2, 2)]

    lake.commit(table, lake.changes(ddl, ("d", "3", None, 2, None), ("c", "3", False, 3, 3)))
    assert lake.rows(table, "id", "v") == [(3, 3)]
