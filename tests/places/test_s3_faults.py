"""Writes to S3 that are torn, refused, slow or killed: the table is at a commit, the next run completes."""

from collections.abc import Callable
from typing import Final

import pytest

from tests.places.deployment import Place, jar_folder, outcome
from tests.places.front import Fault, Front, Request, first, forward
from tests.places.s3 import S3, S3_JARS

pytestmark = [pytest.mark.places, pytest.mark.spark, pytest.mark.servers]

WRITES: Final[dict[str, Callable[[str], bool]]] = {
    "requested": lambda path: path.endswith(".requested"),
    "inflight": lambda path: path.endswith(".inflight"),
    "completed": lambda path: path.endswith(("commit", "deltacommit")) and "/timeline/" in path,
    "data": lambda path: "/.hoodie/" not in path and (path.endswith(".parquet") or ".log." in path),
}
"""The objects of one commit."""
FAULTS: Final[tuple[Fault, ...]] = ("cut", "unanswered", "busy")


def puts(chosen: Callable[[str], bool]) -> Callable[[Request], bool]:
    """Choose the writes of some paths."""
    return lambda request: request.method == "PUT" and chosen(request.path)


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_torn_refused_or_unanswered_write_is_temporary_and_the_next_run_equals(
    make_place: Callable[..., Place], fragile: S3, front: Front, kind: str
) -> None:
    """Of each object of a commit, without a second try: no row is lost or doubled."""
    place = make_place(fragile)
    place.create(kind)
    place.change()
    assert outcome(place.run()) == ("committed", None)
    for name, chosen in WRITES.items():
        for fault in FAULTS:
            place.change()
            front.decide, before = first(1, puts(chosen), fault), len(front.broken)
            report = place.run()
            front.decide = forward
            assert len(front.broken) == before + 1, (name, fault)
            result, error = outcome(report)
            assert result in ("temporary", "committed"), (name, fault, error)
            assert result == "committed" or report.exit_code == 75
            place.run()
            place.check()


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_hadoops_retries_hide_faults_of_the_server(
    make_place: Callable[..., Place], fronted: S3, front: Front, kind: str
) -> None:
    """Every third write is torn, refused or slow: the run commits, and the table equals."""
    place = make_place(fronted)
    place.create(kind)
    count = iter(range(10_000))

    def every_third(request: Request) -> Fault:
        if request.method != "PUT":
            return "pass"
        number = next(count)
        faults: tuple[Fault, ...] = ("cut", "busy", "unanswered", "slow")
        return faults[number // 3 % 4] if number % 3 == 1 else "pass"

    for _ in range(3):
        place.change()
        front.decide = every_third
        report = place.run()
        front.decide = forward
        assert outcome(report) == ("committed", None)
        place.check()
    assert len(front.broken) > 3


@pytest.mark.parametrize(
    ("kind", "moment"), [(kind, moment) for kind in ("cow", "mor") for moment in ("data", "completed")]
)
def test_a_run_killed_in_a_write_to_s3_is_repeated_by_the_next(
    make_place: Callable[..., Place], fronted: S3, front: Front, kind: str, moment: str
) -> None:
    """The process dies in the middle of the put: of a data file, or of the file that completes the commit."""
    place = make_place(fronted)
    place.create(kind)
    place.change()
    assert outcome(place.run()) == ("committed", None)
    place.change()
    process = place.start(jar_folder(place.root / "jars", list(S3_JARS)), "run")
    chosen = puts(WRITES[moment])

    def kill(request: Request) -> Fault:
        if not chosen(request):
            return "pass"
        process.kill()
        return "cut"

    front.decide = kill
    _, errors = process.communicate(timeout=120)
    front.decide = forward
    assert process.returncode == -9, errors
    assert outcome(place.run()) == ("committed", None)
    place.check()


@pytest.mark.parametrize("kind", ["cow", "mor"])
def test_a_long_session_leaves_no_connection_to_s3_open(
    make_place: Callable[..., Place], narrow: S3, kind: str
) -> None:
    """Twelve commits, with a compaction, and reads: more than the pool of eight connections bears."""
    place = make_place(narrow)
    place.create(kind)
    with place.session as session:
        for _ in range(12):
            place.change()
            assert outcome(session.run()) == ("committed", None)
    place.check()


def test_rejects_in_s3_are_listed_and_replayed(make_place: Callable[..., Place], fronted: S3) -> None:
    """A message that is not Avro is written to the bucket, counted without a JVM, and replayed."""
    place = make_place(fronted)
    place.create("cow")
    place.change()
    place.topic.produce([(place.topic.key_bytes({"id": 9}), b"\x00\x00")])
    report = place.run()
    assert outcome(report) == ("committed", None)
    assert report.tables[0].counts.rejected == 1
    with place.session as session:
        (status,) = session.status()
        (listed,) = session.rejects("orders").records
        reject = session.reject("orders", listed.partition, listed.offset)
        assert (status.rejects, reject.value) == (1, b"\x00\x00")
        replayed = session.replay("orders")
        assert (replayed.counts.read, replayed.resolved) == (1, 0)
    place.check()
