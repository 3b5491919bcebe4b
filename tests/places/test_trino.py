"""Trino's queries over tables of `ingest`: where they equal, what they leave out, and where they stop."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Final

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from tests.hudi.conftest import VERSION, Lake
from tests.places.cells import text
from tests.places.deployment import Place, outcome
from tests.places.matrix import TABLES, TYPES, Cell, judged, make_frame, write
from tests.places.record import record
from tests.places.trino import HIVE_TYPES, PLACEHOLDER, SHOWN, Trino, TrinoError, open_for_trino

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

NO_FILE: Final = "Could not load archived commit timeline"


@pytest.fixture
def place(tmp_path: Path, servers: Addresses, outer_spark: SparkSession) -> Place:
    """Return a deployment whose lake is a local folder."""
    return Place(tmp_path, servers, outer_spark, str(tmp_path / "lake"), {})


def commit(place: Place) -> None:
    """Change the source, and run."""
    place.change()
    assert outcome(place.run()) == ("committed", None)


def rows_of(trino: Trino, name: str) -> list[tuple[int, str]]:
    """Read the table as Trino does."""
    return [(key, value) for key, value in trino.query(f"select id, v from {name} order by id")]


@pytest.mark.skipif(VERSION == 6, reason="holds for the folder of version 9")
def test_trino_reads_a_cow_table_once_its_folder_of_archived_commits_has_a_file(
    trino: Trino, place: Place
) -> None:
    """Trino 476 takes an empty folder for a missing one; with a file in it, three commits equal."""
    place.create("cow")
    commit(place)
    trino.register("orders_cow", place.path, "cow", {"id": "int", "v": "string"})
    with pytest.raises(TrinoError, match=f"{NO_FILE}.*history does not exist"):
        rows_of(trino, "hudi.lake.orders_cow")
    Path(place.path, PLACEHOLDER).touch()
    assert rows_of(trino, "hudi.lake.orders_cow") == sorted(place.rows.items())
    for _ in range(2):
        commit(place)
        assert rows_of(trino, "hudi.lake.orders_cow") == sorted(place.rows.items())
    place.check()


def test_trino_reads_a_table_that_hudis_sync_entered_in_hives_metastore(
    trino: Trino, metastore: str, place: Place
) -> None:
    """The sync follows each commit, by the options of the page; three commits equal."""
    options = {
        "enable": "true", "mode": "hms", "metastore.uris": metastore, "database": "bronze", "table": "orders",
        "support_timestamp": "true",
    }  # fmt: skip
    place.create(
        "cow", hudi="".join(f'"hoodie.datasource.hive_sync.{k}" = "{v}"\n' for k, v in options.items())
    )
    for _ in range(3):
        commit(place)
        open_for_trino(place.path)
        assert rows_of(trino, "hive.bronze.orders") == sorted(place.rows.items())


def test_trino_reads_a_mor_table_as_it_was_compacted_last(trino: Trino, place: Place) -> None:
    """Changes in log files are not shown, without an error, in either of Hive's formats."""
    place.create("mor")
    commit(place)
    first = sorted(place.rows.items())
    commit(place)
    open_for_trino(place.path)
    for name, table_type in (("orders_ro", "cow"), ("orders_rt", "mor")):
        trino.register(name, place.path, table_type, {"id": "int", "v": "string"})
        assert rows_of(trino, f"hudi.lake.{name}") == first
    assert first != sorted(place.rows.items())


def read_by_trino(trino: Trino, lake: Lake) -> Iterator[Cell]:
    """Write a table for each type of column and table, and read each."""
    for kind, table in product(TYPES, TABLES):
        job = write(lake, kind.name, table, {"v": kind})
        open_for_trino(job["path"])
        name = f"{kind.name}_{table}".lower()
        columns = {"id": "int", "v": HIVE_TYPES.get(kind.ddl, kind.ddl)}
        trino.register(name, job["path"], "cow" if table == "cow" else "mor", columns)
        try:
            rows = trino.query(f"select id, v from hudi.lake.{name} order by id")
            answer = {"rows": [[key, text(value)] for key, value in rows]}
        except TrinoError as error:
            answer = {"problem": str(error)[:SHOWN]}
        yield judged("Trino", table, kind, answer)


def test_trino_reads_the_columns_that_the_page_says(
    trino: Trino, spark: SparkSession, tmp_path: Path
) -> None:
    """Each type of column in each type of table, with a file among the archived commits."""
    cells = sorted(read_by_trino(trino, Lake(spark, tmp_path / "lake")))
    assert record(f"trino_{VERSION}", [attrs.asdict(cell) for cell in cells], {"Trino": "476"}) == []


def test_trino_reads_archived_commits_of_version_6_only(
    trino: Trino, spark: SparkSession, tmp_path: Path
) -> None:
    """Its connector cannot read the Parquet files of the newer layout (apache/hudi#13994)."""
    lake = Lake(spark, tmp_path / "lake")
    table = attrs.evolve(lake.table("archived", type="cow", buckets=1), hudi=Lake.SHORT_MEMORY)
    for number in range(8):
        lake.commit(table, make_frame(lake, [("c", number, {"v": "'a'"})], {"v": "string"}))
    trino.register("archived", lake.path(table), "cow", {"id": "int", "v": "string"})
    if VERSION == 6:
        assert list(Path(lake.path(table), ".hoodie", "history").glob(".commits_.archive.*"))
        assert rows_of(trino, "hudi.lake.archived") == [(number, "a") for number in range(8)]
        return
    assert list(Path(lake.path(table), PLACEHOLDER).parent.glob("*.parquet"))
    with pytest.raises(TrinoError, match="does not support Parquet file reader"):
        rows_of(trino, "hudi.lake.archived")
