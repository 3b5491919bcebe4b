"""A disk without room: told with its path, nothing committed, and with room again the run goes through."""

import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from pyspark.sql import SparkSession

from ingest.errors import LakeUnreachableError
from ingest.run.report import TableOutcome
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
NO_DATA_FILE: Final = 40_000
"""Bytes that have room for a timeline's files, and none for a data file."""


@contextmanager
def small_files(spark: SparkSession, most_bytes: int) -> Iterator[None]:
    """Let the JVM write no larger files: the way to fail in the middle of one that needs no rights."""
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(place: Path) -> Iterator[None]:
    """Mount a disk in memory, of 16 MB; skip where this user may not."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(place)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: Path, left_bytes: int) -> Path:
    """Write a file that leaves so many bytes free; return it."""
    file = place / "filler"
    with file.open("wb") as filler:
        filler.write(bytes(shutil.disk_usage(place).free - left_bytes))
    return file


def assert_no_room(outcome: TableOutcome, path: Path, said: str) -> None:
    """Check that an outcome is temporary, and tells in one line where there was no room."""
    text = str(outcome.error)
    assert isinstance(outcome.error, LakeUnreachableError), text
    assert (outcome.outcome, outcome.instant, outcome.error.exit_code) == ("temporary", None, 75)
    assert str(path) in text
    assert said in text
    assert "\n" not in text


def test_files_that_cannot_be_written_to_their_end_are_no_commit(
    make_deployment: Callable[[], Deployment], caplog: pytest.LogCaptureFixture
) -> None:
    """A limit strikes inside a data file (COW), and inside the commit's file (MOR), which Hudi leaves torn.

    Neither is a commit for anybody: the tables are read as they were, and the next run brings both up.
    """
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("cow", "mor")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard()
    path = deployment.tables / "mor.toml"
    path.write_text(path.read_text().replace('type = "cow"', 'type = "mor"'))
    for topic in topics.values():
        topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    assert deployment.run().exit_code == 0
    lake = deployment.root / "lake"
    (commit,) = (lake / "mor" / ".hoodie" / "timeline").glob("*.deltacommit")
    for topic in topics.values():
        topic.send(Change("u", {"id": 1, "v": "b"}, at=2))

    with small_files(deployment.spark, commit.stat().st_size - 200):
        report = deployment.run()

    assert "half a file of the timeline was taken away" in caplog.text
    for outcome in report.tables:
        assert_no_room(outcome, lake / outcome.table, "File too large")
        assert [row.v for row in deployment.frame(outcome.table).collect()] == ["a"]
    assert [one.counts.read for one in deployment.run().tables] == [1, 1]
    assert [row.v for name in topics for row in deployment.frame(name).collect()] == ["b", "b"]


def test_a_full_disk_is_told_and_leaves_the_table_as_it_was(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Full before the commit begins, and full within it; with room again the same run goes through."""
    deployment = make_deployment()
    topic = make_topics(deployment.servers, {f"{deployment.prefix}.testDB.dbo.t": COLUMNS})["t"]
    deployment.onboard()
    lake = deployment.root / "lake"
    with small_disk(lake):
        topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
        assert deployment.run().exit_code == 0
        topic.send(Change("u", {"id": 1, "v": "b"}, at=2), Change("c", {"id": 2, "v": "b"}, at=3))

        for left_bytes in (0, NO_DATA_FILE):
            filler = fill(lake, left_bytes)
            (outcome,) = deployment.run().tables
            assert_no_room(outcome, lake, "No space left on device")
            filler.unlink()
            assert [row.v for row in deployment.frame("t").collect()] == ["a"]
        (outcome,) = deployment.run().tables

        assert (outcome.outcome, outcome.counts.read) == ("committed", 2)
        assert [row.v for row in deployment.frame("t").orderBy("id").collect()] == ["b", "b"]
