"""A table is found by name after its commits, with the columns and the rows that it has then."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pytest
from structlog.testing import capture_logs

from ingest.errors import SettingsError
from ingest.spark.catalog import check_catalog, register

if TYPE_CHECKING:
    from tests.hudi.conftest import Lake

pytestmark = pytest.mark.spark
DATABASE = "bronze"
NOON = datetime(2026, 1, 1, 12)  # noqa: DTZ001  a wall clock


@pytest.fixture
def database(lake: "Lake") -> Iterator[str]:
    """Give the name of a database that is not there yet, and is gone afterwards."""
    yield DATABASE
    lake.spark.sql(f"drop database if exists {DATABASE} cascade")


@pytest.mark.parametrize(("kind", "parts"), [("cow", ()), ("mor", ("p",))])
def test_an_entry_follows_its_table(lake: "Lake", database: str, kind: str, parts: tuple[str, ...]) -> None:
    """Made with the first commit; then a column is added, one widens, one gets a field.

    Topics, and so tables, have capitals; Spark looks names up in small letters.
    """
    index = "global_simple" if parts else "bucket"
    table = lake.table(
        "orders", type=kind, partition_by=parts, index=index, hive_style_partitions=bool(parts)
    )
    first = "id int not null, p string, v int, s struct<a: int>, n timestamp_ntz"
    second = "id int not null, p string, v bigint, s struct<a: int, b: string>, n timestamp_ntz, w date"

    lake.commit(table, lake.changes(first, ("c", "1", 1, "x", 1, (1,), NOON)))
    register(lake.open(table), database, "testDB_Orders")
    by_name = lake.spark.table(f"{database}.testDB_Orders")
    assert by_name.selectExpr("id", "p", "v", "s.a", "n").collect() == [(1, "x", 1, 1, NOON)]
    lake.commit(table, lake.changes(second, ("c", "2", 2, "y", 1 << 40, (2, "b"), NOON, None)))
    register(lake.open(table), database, "testDB_Orders")

    by_name = lake.spark.table(f"{database}.testDB_Orders")
    result = by_name.selectExpr("id", "p", "v", "s.b", "w").orderBy("id").collect()
    assert result == [(1, "x", 1, None, None), (2, "y", 1 << 40, "b", None)]
    columns = {
        row.col_name: row.data_type for row in lake.spark.sql(f"describe {database}.testDB_Orders").collect()
    }
    assert (columns["v"], columns["s"], columns["w"]) == ("bigint", "struct<a:int,b:string>", "date")


def test_a_taken_name_stays_as_it_is_and_is_reported(lake: "Lake", database: str) -> None:
    """By a table at another place: the rows are committed, and the log says why nobody finds them."""
    old, new = lake.table("old"), lake.table("new")
    for table in (old, new):
        lake.commit(table, lake.changes("id int not null", ("c", "1", 1)))
    register(lake.open(old), database, "t")

    with capture_logs() as logged:
        register(lake.open(new), database, "t")

    assert [item["event"] for item in logged] == ["committed, but not in the catalog"]
    assert lake.path(old) in logged[0]["problem"]


def test_the_refusal_of_a_catalog_is_reported(lake: "Lake", database: str) -> None:
    """A view of that name, say; nothing is raised, for the commit counts."""
    table = lake.table("seen")
    lake.commit(table, lake.changes("id int not null", ("c", "1", 1)))
    lake.spark.sql(f"create database {database}")
    lake.spark.sql(f"create view {database}.seen as select 1 as one")

    with capture_logs() as logged:
        register(lake.open(table), database, "seen")

    assert [item["entry"] for item in logged] == [f"{database}.seen"]


def test_a_catalog_that_ends_with_the_session_is_refused(lake: "Lake") -> None:
    """Which the suite's own is."""
    with pytest.raises(SettingsError, match=r"lake.database: the session's .* is 'in-memory'"):
        check_catalog(lake.spark)
