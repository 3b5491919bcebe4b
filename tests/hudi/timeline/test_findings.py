"""Commits that do not continue where the one before ended are found, deliberate moves are not."""

from typing import Any

import attrs
import pytest

from ingest.hudi.timeline.findings import find_holes, find_strays, take_inventory
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.names import Instant, Partition, Topic


def entry(instant: int, start: dict[int, int], end: dict[int, int], **changes: Any) -> LedgerEntry:
    """Make an account from offsets by partition."""
    starts = {Partition(partition): offset for partition, offset in start.items()}
    ends = {Partition(partition): offset for partition, offset in end.items()}
    made = LedgerEntry("r", Topic("t"), ends, ends, start_offsets=starts, instant=Instant(str(instant)))
    return attrs.evolve(made, **changes)


def commit(instant: str, *files: WrittenFile) -> StoredCommit:
    """Make a commit with files."""
    return StoredCommit("path", Instant(instant), instant, "UPSERT", {}, files)


def problems(*history: LedgerEntry) -> list[str]:
    """Return the findings in a history, given oldest first."""
    return [str(finding) for finding in find_holes("orders", history[::-1])]


def test_commits_that_follow_each_other_have_no_holes() -> None:
    """A new partition starts anywhere, a move is recorded, a replay stays."""
    assert not problems(
        entry(1, {0: 40}, {0: 50}),
        entry(2, {0: 50, 1: 7}, {0: 60, 1: 9}),
        entry(3, {0: 60, 1: 9}, {0: 60, 1: 9}, kind="replay"),
        entry(4, {0: 60, 1: 9}, {0: 5, 1: 9}, kind="set-offsets"),
        entry(5, {0: 5, 1: 9}, {0: 70, 1: 9}),
    )


def test_a_missing_commit_is_a_hole_with_the_command_that_reads_it_again() -> None:
    """The place is named by commit, partition and offset."""
    (problem,) = problems(entry(1, {0: 0, 1: 0}, {0: 50, 1: 5}), entry(3, {0: 60, 1: 5}, {0: 70, 1: 5}))

    assert "commit 3, partition 0: starts at 60, and commit 1 ended at 50" in problem
    assert "`ingest offsets set orders --to 0=50`" in problem


def test_a_missing_move_back_and_a_missing_partition_are_found() -> None:
    """Messages that were read twice, and a partition that the table forgot."""
    (again,) = problems(entry(1, {0: 0}, {0: 50}), entry(3, {0: 20}, {0: 70}))
    assert "starts at 20" in again
    assert "read again" in again
    (forgotten,) = problems(entry(1, {0: 0, 1: 0}, {0: 5, 1: 5}), entry(2, {0: 5}, {0: 6}))
    assert "partition 1: has no start" in forgotten


def test_commits_of_older_versions_are_compared_by_their_ends() -> None:
    """They did not record their start; ends go forward, but for moves."""
    assert not problems(
        entry(1, {}, {0: 5}),
        entry(2, {}, {0: 5}),
        entry(3, {}, {0: 9}),
        entry(4, {}, {0: 1}, kind="set-offsets"),
    )
    (back,) = problems(entry(1, {}, {0: 5}), entry(2, {}, {0: 4}))
    assert "ends at 4" in back


@pytest.mark.parametrize(
    ("sizes", "wanted"),
    [
        ({"a_2.parquet": 20, ".a_3.log.1_0-1-1": 5, "b_1.parquet": 7}, 0),
        ({"a_2.parquet": 20, ".a_3.log.1_0-1-1": 9, "b_1.parquet": 7}, 0),
        ({"a_2.parquet": 20, ".a_3.log.1_0-1-1": 5}, 1),
        ({"a_2.parquet": 21, ".a_3.log.1_0-1-1": 4, "b_1.parquet": 7}, 2),
        ({}, 3),
    ],
)
def test_the_files_of_the_newest_slices_must_be_in_storage(sizes: dict[str, int], wanted: int) -> None:
    """Older base files may be cleaned; a log may have grown; every commit counts, however old."""
    commits = [
        commit("3", WrittenFile("3", "a", ".a_3.log.1_0-1-1", 5)),
        commit("2", WrittenFile("2", "a", "a_2.parquet", 20)),
        *(commit(f"1{n:02}") for n in range(30)),
        commit("1", WrittenFile("1", "a", "a_1.parquet", 10), WrittenFile("1", "b", "b_1.parquet", 7)),
    ]

    inventory = take_inventory(commits, sizes)

    assert (inventory.files, inventory.size) == (3, 32)
    assert len(inventory.findings) == wanted


def test_files_of_a_commit_that_the_timeline_lacks_are_found() -> None:
    """Older ones may be of archived commits."""
    sizes = {f"p/g-0_0-1-2_{n:017}.parquet": 1 for n in (1, 5, 7)} | {
        f"p/.g-0_{8:017}.log.1_0-1-2": 1,
        "p/.hoodie_partition_metadata": 1,
    }
    instants = {f"{n:017}" for n in (3, 5, 9)}

    problems = [finding.problem for finding in find_strays(instants, sizes, 9)]

    assert [f"{n:017}" in problem for n, problem in zip((7, 8), problems, strict=True)] == [True, True]
    assert [finding.problem for finding in find_strays(instants, sizes, 6)] == problems[:1]
