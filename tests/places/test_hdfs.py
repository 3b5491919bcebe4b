"""Tables in HDFS: equal, after a kill too, under a lock that only one of many attempts gets."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.hudi.locks.lock import locked, provider_of
from ingest.hudi.locks.lock_providers import ProviderLock
from ingest.hudi.table import HudiTable
from ingest.hudi.upkeep.rebuild import set_table_properties
from ingest.local.servers import Addresses
from ingest.settings import LakeSettings
from ingest.spark.java import hadoop_of, jvm_of
from tests.places.deployment import Place, jar_folder, outcome
from tests.places.hdfs import running_hdfs

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

ROUNDS, RIVALS = 10, 4


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run HDFS."""
    with running_hdfs(tmp_path_factory.mktemp("hdfs") / "data") as root:
        yield root


@pytest.fixture
def place(hdfs: str, tmp_path: Path, servers: Addresses, outer_spark: SparkSession) -> Place:
    """Return a deployment whose lake lies in HDFS, with its lock."""
    return Place(tmp_path, servers, outer_spark, f"{hdfs}/lake/{tmp_path.name}", {}, lock="auto")


def list_files(spark: SparkSession, folder: str) -> list[str]:
    """Return the names in a folder of HDFS."""
    path = jvm_of(spark).org.apache.hadoop.fs.Path(folder)
    files = path.getFileSystem(hadoop_of(spark))
    return [status.getPath().getName() for status in files.listStatus(path)] if files.exists(path) else []


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_table_in_hdfs_equals_its_source(place: Place, kind: str) -> None:
    """Over three commits, with an idle run, its status and its rejects."""
    place.create(kind)
    for _ in range(3):
        place.change()
        assert outcome(place.run()) == ("committed", None)
        place.check()
    place.topic.produce([(place.topic.key_bytes({"id": 9}), b"\x00\x00")])
    assert outcome(place.run()) == ("committed", None)
    assert outcome(place.run()) == ("idle", None)
    with place.session as session:
        (status,) = session.status()
        (reject,) = session.rejects("orders").records
    assert (status.rows, status.rejects, status.lag) == (len(place.rows), 1, 0)
    assert reject.value is None
    place.check()


def test_properties_in_hdfs_are_replaced_and_a_killed_rewrite_is_completed(place: Place) -> None:
    """In one step by a rename; Hudi's own rewrite leaves a backup and an empty file when it is killed."""
    place.create("mor")
    place.change()
    assert outcome(place.run()) == ("committed", None)
    stored = HudiTable(place.spark, place.path)
    set_table_properties(stored, {"hoodie.table.create.note": "7"})
    home = jvm_of(place.spark).org.apache.hadoop.fs.Path(f"{place.path}/.hoodie")
    assert stored.client is not None
    assert stored.client.getTableConfig().getProps().getProperty("hoodie.table.create.note") == "7"
    names = [name for name in list_files(place.spark, home.toString()) if ".properties" in name]
    assert names == ["hoodie.properties"]

    files, properties = home.getFileSystem(hadoop_of(place.spark)), home.suffix("/hoodie.properties")
    assert files.rename(properties, properties.suffix(".backup"))
    files.create(properties).close()
    place.change()
    assert outcome(place.run()) == ("committed", None)
    place.check()


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_run_killed_in_its_commit_to_hdfs_is_repeated_by_the_next(place: Place, kind: str) -> None:
    """At whichever step it was; without the lock, whose holder is dead only two minutes later."""
    place.lock = "none"
    place.create(kind)
    place.change()
    assert outcome(place.run()) == ("committed", None)
    place.change()
    process = place.start(jar_folder(place.root / "jars", []), "run")
    until = time.monotonic() + 120
    while not any(
        name.endswith(".inflight") for name in list_files(place.spark, f"{place.path}/.hoodie/timeline")
    ):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < until
        time.sleep(0.01)
    process.kill()
    process.communicate()
    assert outcome(place.run())[1] is None
    place.check()


def test_one_of_many_attempts_at_once_gets_the_lock_in_hdfs(
    hdfs: str, spark: SparkSession, tmp_path: Path
) -> None:
    """The name node creates a file for one of them."""
    for number in range(ROUNDS):
        folder = f"{hdfs}/{tmp_path.name}/{number % 3}"
        rivals = [provider_of(spark, folder) for _ in range(RIVALS)]
        assert all(isinstance(rival, ProviderLock) for rival in rivals)
        start, results = threading.Barrier(RIVALS), [False] * RIVALS

        def attempt(index: int, rivals: Any = rivals, start: Any = start, results: Any = results) -> None:
            start.wait()
            results[index] = rivals[index].take(f"note {index}")

        threads = [threading.Thread(target=attempt, args=(index,)) for index in range(RIVALS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count(True) == 1, (number, results)
        rivals[results.index(True)].release(f"note {results.index(True)}")


def test_a_second_process_is_refused_while_the_first_holds_a_table_in_hdfs(place: Place) -> None:
    """It exits with 75, names the holder, and reads nothing."""
    place.create("cow")
    place.change()
    lake = LakeSettings(place.lake)
    with locked(place.spark, lake, "orders", "first", 0):
        process = place.start(jar_folder(place.root / "jars", []), "run")
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 75, errors
        assert "locked by another writer: run first" in errors
    assert outcome(place.run()) == ("committed", None)
    place.check()
