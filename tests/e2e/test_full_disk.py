"""A full disk: the error names the path, nothing is committed, and the run succeeds once there is room."""

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
from ingest.report.outcome import TableOutcome
from ingest.testing import nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, make_topics
from tests.hudi.conftest import timeline_of

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS = {"id": "int", "v": nullable("string")}
NO_DATA_FILE: Final = 40_000
"""Bytes that fit a timeline file but not a data file."""


@contextmanager
def small_files(spark: SparkSession, most_bytes: int) -> Iterator[None]:
    """Limit the JVM's file size: fails in the middle of a file without special rights."""
    pid = int(spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]  # noqa: SLF001
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


@contextmanager
def small_disk(mount_point: Path) -> Iterator[None]:
    """Mount a disk of 16 MB in memory; skip if the user lacks the right."""
    mount_point.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(mount_point)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no disk can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(mount_point)], check=True)


def fill(folder: Path, left_bytes: int) -> Path:
    """Fill the disk up to a number of free bytes; return the file."""
    file = folder / "filler"
    with file.open("wb") as filler:
        filler.write(bytes(shutil.disk_usage(folder).free - left_bytes))
    return file


def assert_no_room(outcome: TableOutcome, path: Path, message: str) -> None:
    """Check that an outcome is temporary, and that its one line names the full path."""
    text = str(outcome.error)
    assert isinstance(outcome.error, LakeUnreachableError), text
    assert (outcome.outcome, outcome.instant, outcome.error.exit_code) == ("temporary", None, 75)
    assert str(path) in text
    assert message in text
    assert "\n" not in text


def test_truncated_files_are_not_a_commit(
    make_deployment: Callable[[], Deployment], caplog: pytest.LogCaptureFixture
) -> None:
    """The limit strikes inside a data file (COW), and inside the commit file (MOR): Hudi leaves it truncated.

    Readers see neither as a commit: the tables read as before, and the next run updates both.
    """
    deployment = make_deployment()
    names = {f"{deployment.prefix}.testDB.dbo.{name}": COLUMNS for name in ("cow", "mor")}
    topics = make_topics(deployment.servers, names)
    deployment.onboard(first_load="upsert")  # so that both commits have files of one size
    path = deployment.tables / "mor.toml"
    path.write_text(path.read_text().replace('type = "cow"', 'type = "mor"'))
    for topic in topics.values():
        topic.send(Change("c", {"id": 1, "v": "a"}, at=1))
    assert deployment.run().exit_code == 0
    lake = deployment.root / "lake"
    (commit,) = timeline_of(lake / "mor").glob("*.deltacommit")
    for topic in topics.values():
        topic.send(Change("u", {"id": 1, "v": "b"}, at=2))

    with small_files(deployment.spark, commit.stat().st_size - 200):
        report = deployment.run()

    assert "removed a truncated timeline file" in caplog.text
    for outcome in report.tables:
        assert_no_room(outcome, lake / outcome.table, "File too large")
        assert [row.v for row in deployment.frame(outcome.table).collect()] == ["a"]
    assert [outcome.counts.read for outcome in deployment.run().tables] == [1, 1]
    assert [row.v for name in topics for row in deployment.frame(name).collect()] == ["b", "b"]


def test_a_full_disk_is_reported_and_leaves_the_table_unchanged(
    make_deployment: Callable[[], Deployment],
) -> None:
    """Full before the commit and within it; the same run succeeds once there is room."""
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
