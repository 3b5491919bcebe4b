"""The lock of a table in S3, on a real server: one holder at a time, whoever dies; no store without it."""

import json
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.errors import SettingsError, TableLockedError
from ingest.hudi.locks import s3_lock
from ingest.hudi.locks.lock import locked, provider_of
from ingest.hudi.locks.s3_lock import S3Lock
from ingest.settings import LakeSettings
from tests.places.front import Fault, Front, Request, first, forward
from tests.places.s3 import S3

pytestmark = [pytest.mark.places, pytest.mark.spark]

ROUNDS, RIVALS = 25, 4


def lock_of(spark: SparkSession, folder: str) -> S3Lock:
    """Return an attempt of another process at a lock."""
    lock = provider_of(spark, folder)
    assert isinstance(lock, S3Lock)
    return lock


def test_one_of_many_attempts_at_once_gets_the_lock(
    spark: SparkSession, fronted: S3, front: Front, tmp_path: Path
) -> None:
    """At a new lock and at a released one, of a server that carries out one conditional write at a time."""
    front.decide = forward
    for number in range(ROUNDS):
        folder = f"{fronted.lake}/{tmp_path.name}/{number % 5}"
        rivals = [lock_of(spark, folder) for _ in range(RIVALS)]
        start, results = threading.Barrier(RIVALS), [False] * RIVALS

        def attempt(
            place: int, rivals: list[S3Lock] = rivals, start: Any = start, results: Any = results
        ) -> None:
            start.wait()
            results[place] = rivals[place].take(f"note {place}")

        threads = [threading.Thread(target=attempt, args=(place,)) for place in range(RIVALS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results.count(True) == 1, (number, results)
        winner = results.index(True)
        assert [rival.is_mine(f"note {n}") for n, rival in enumerate(rivals)] == results
        for rival in rivals:
            assert rival.note() == f"note {winner}"
        rivals[winner].release(f"note {winner}")
        assert rivals[0].note() == ""


def test_a_dead_holder_is_replaced_by_the_servers_clock_and_notices(
    spark: SparkSession, s3: S3, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A beating holder is not; of its heirs one wins, and the holder's commit is refused."""
    monkeypatch.setattr(s3_lock, "EXPIRY_S", 3.0)
    monkeypatch.setattr(s3_lock, "BEAT_S", 0.5)
    lake = LakeSettings(f"{s3.lake}/{tmp_path.name}")
    folder = lake.lock_path("t")
    with locked(spark, lake, "t", "first", 0) as held:
        time.sleep(4.5)
        held.check()
        assert not lock_of(spark, folder).take("heir")
        assert held.provider is not None
        assert isinstance(held.provider, S3Lock)
        held.provider.stop()
        time.sleep(4.5)
        with pytest.raises(TableLockedError, match="taken over"):
            held.check()
        heir = lock_of(spark, folder)
        assert heir.take(json.dumps({"run_id": "heir", "pid": 1, "host": "h", "since": "now"}))
        with pytest.raises(TableLockedError, match="taken over, by run heir"):
            held.check()
    assert heir.is_mine(heir.note())


def test_the_holder_is_named_and_a_second_process_waits(spark: SparkSession, s3: S3, tmp_path: Path) -> None:
    """As on a local path."""
    lake = LakeSettings(f"{s3.lake}/{tmp_path.name}")
    with locked(spark, lake, "t", "mine", 0):
        other = lock_of(spark, lake.lock_path("t"))
        assert not other.take("x")
        assert json.loads(other.note())["run_id"] == "mine"
    with locked(spark, lake, "t", "next", 0) as held:
        held.check()


def test_an_attempt_without_an_answer_is_not_taken_for_a_lost_one(
    spark: SparkSession, fronted: S3, front: Front, tmp_path: Path
) -> None:
    """The server wrote the lock, the client tries again and is refused: it reads its own name."""
    lock = lock_of(spark, f"{fronted.lake}/{tmp_path.name}")
    front.decide = first(1, lambda request: request.method == "PUT", "unanswered")
    assert lock.take("note")
    front.decide = forward
    assert lock.is_mine("note")
    lock.release("note")


def test_a_store_that_ignores_conditions_is_refused(
    spark: SparkSession, fronted: S3, front: Front, tmp_path: Path
) -> None:
    """Such a lock would have any number of holders."""
    s3_lock.forget_stores()

    def unconditional(request: Request) -> Fault:
        return "unconditional" if request.method == "PUT" else "pass"

    front.decide = unconditional
    lake = LakeSettings(f"{fronted.lake}/{tmp_path.name}")
    with pytest.raises(SettingsError, match="bucket fronted: If-None-Match is ignored"):
        locked(spark, lake, "t", "mine", 0).__enter__()
    front.decide = forward
    with locked(spark, lake, "t", "mine", 0):
        pass
