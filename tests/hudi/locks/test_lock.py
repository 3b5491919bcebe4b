"""A table has one writer: a living holder keeps its lock, a dead one loses it, and either is named."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.errors import TableLockedError, WriteError
from ingest.hudi.locks.lock import locked
from ingest.hudi.locks.lock_providers import EXPIRY_MIN, ProviderLock
from ingest.settings import LakeSettings
from ingest.spark.java import hadoop_of, jvm_of

pytestmark = pytest.mark.spark

OTHER = """
import fcntl, sys
file = open(sys.argv[1], "r+")
fcntl.lockf(file, fcntl.LOCK_EX)
file.write('{"run_id": "other", "host": "elsewhere", "pid": 7, "since": "2026-01-01T00:00:00Z"}')
file.flush()
print("locked", flush=True)
sys.stdin.read()
"""
"""Locks a file as Java does."""


@contextmanager
def other_process(lock: Path) -> Iterator["subprocess.Popen[str]"]:
    """Hold a lock in another process."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    lock.touch()
    command = [sys.executable, "-c", OTHER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "locked\n"
        try:
            yield process
        finally:
            process.kill()


def test_another_process_is_named_and_its_death_frees_the_table(spark: SparkSession, tmp_path: Path) -> None:
    """At once, with any note: the operating system knows.  A lock costs few milliseconds."""
    lake = LakeSettings(str(tmp_path))
    lock = Path(lake.lock_path("t")) / "lock"
    with other_process(lock) as process:
        with pytest.raises(TableLockedError, match="run other, process 7 on elsewhere, since") as explained:
            locked(spark, lake, "t", "mine", 0).__enter__()
        assert explained.value.exit_code == 75
        with locked(spark, lake, "another", "mine", 0):
            pass
        process.kill()
        process.wait()
        with locked(spark, lake, "t", "mine", 0) as stored:
            stored.check()
            assert f'"pid": {os.getpid()}' in lock.read_text()
    assert lock.read_text() == ""

    times_s = []
    for _ in range(5):
        started = time.perf_counter()
        with locked(spark, lake, "t", "mine", 0):
            pass
        times_s.append(time.perf_counter() - started)
    assert min(times_s) < 0.05


def test_one_process_holds_a_table_once(spark: SparkSession, tmp_path: Path) -> None:
    """Also under another name of the same folder, where only the JVM sees it; the first keeps its lock."""
    lake, same = LakeSettings(str(tmp_path)), LakeSettings(f"file:{tmp_path}")
    with locked(spark, lake, "t", "first", 0) as stored:
        for position in (lake, same):
            started = time.monotonic()
            with pytest.raises(TableLockedError, match="run first, process"):
                locked(spark, position, "t", "second", 0.3).__enter__()
            assert time.monotonic() - started >= 0.3
        stored.check()
        with other_process_refused(Path(lake.lock_path("t")) / "lock"):
            stored.check()
    with locked(spark, same, "t", "second", 0) as stored:
        stored.check()


@contextmanager
def other_process_refused(lock: Path) -> Iterator[None]:
    """See another process fail to lock a file."""
    code = OTHER.replace("LOCK_EX", "LOCK_EX | fcntl.LOCK_NB")
    done = subprocess.run([sys.executable, "-c", code, str(lock)], capture_output=True, check=False)
    assert b"BlockingIOError" in done.stderr
    yield


def test_a_lock_that_was_removed_is_not_committed_under(spark: SparkSession, tmp_path: Path) -> None:
    """A person deleted the file: another run could lock its successor."""
    lake = LakeSettings(str(tmp_path))
    with locked(spark, lake, "t", "first", 0) as stored:
        (Path(lake.lock_path("t")) / "lock").unlink()
        same = LakeSettings(f"file:{tmp_path}")
        used = pytest.raises(TableLockedError, match="taken over, by run second")
        with locked(spark, same, "t", "second", 0), used:
            stored.check()


def test_a_lake_that_locks_nothing_or_cannot_be(spark: SparkSession, tmp_path: Path) -> None:
    """`lock = "none"` touches nothing; a folder below a file is final, and named."""
    with locked(spark, LakeSettings(str(tmp_path / "lake"), lock="none"), "t", "mine", 0) as stored:
        stored.check()
    assert not (tmp_path / "lake").exists()

    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=str(tmp_path / "file")):
        locked(spark, LakeSettings(str(tmp_path / "file")), "t", "mine", 0).__enter__()


def test_hudis_provider_is_beaten_named_and_taken_over(spark: SparkSession, tmp_path: Path) -> None:
    """The lock for HDFS, on local files: a holder with an old file is dead."""
    first, second = (ProviderLock(jvm_of(spark), hadoop_of(spark), str(tmp_path)) for _ in range(2))
    assert first.take("1")
    assert not second.take("2")
    assert second.note() == "1"
    assert first.is_mine("1")
    second.release("2")
    assert first.is_mine("1")

    old = time.time() - EXPIRY_MIN * 60 - 1
    os.utime(tmp_path / "lock", (old, old))
    assert not first.is_mine("1")
    assert second.take("2")
    first.release("1")

    assert second.is_mine("2")
    second.release("2")
    assert not (tmp_path / "lock").exists()
    assert second.note() == ""
