"""Faults of a table that reading it may not show: missing files, offsets with holes.

Readers pass over a missing data file, and show older rows or fewer, without an error.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Literal

import attrs

from ingest.errors import sentences
from ingest.hudi.storage.folder import RESTORE
from ingest.hudi.timeline.damage import damaged_files, live_files
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.properties import OLDEST
from ingest.hudi.timeline.row_count import BASE, LOG
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.names import Partition

Check = Literal["timeline", "files", "offsets", "keys", "iceberg"]
"""The timeline is readable, files of commits exist in full size, offsets have no holes, each key is once, and
the Iceberg table has the same files."""

REPEATED: Final = (
    "Messages were read again, which changes no row in mode upsert; find out which commits are missing in "
    ".hoodie/timeline"
)


@attrs.frozen
class Finding:
    """A fault of a table, and how to repair it."""

    check: Check
    problem: str
    todo: str

    def __str__(self) -> str:
        return sentences(f"{self.check}: {self.problem}", self.todo)


@attrs.frozen
class Inventory:
    """The data files that a snapshot of the table needs, and the faults among them."""

    files: int
    size: int
    findings: tuple[Finding, ...]


def take_inventory(commits: Iterable[StoredCommit], sizes: Mapping[str, int]) -> Inventory:
    """Compare the files that a reader needs with storage.  The commits are newest first."""
    files = tuple(live_files(commits, limit=None))
    problems = damaged_files(files, sizes)
    return Inventory(
        len(files),
        sum(file.size for file in files),
        tuple(Finding("files", problem, RESTORE) for problem in problems),
    )


def find_strays(instants: Collection[str], sizes: Mapping[str, int], version: int) -> Iterator[Finding]:
    """Yield the instants of data files that the timeline lacks, except those older than its oldest.

    Readers ignore such files: the table is as of an earlier commit.  A rollback deletes the files of a commit
    before the commit itself.  In a table of version 6 it leaves log files, which name the first commit of
    their file group, and makes their blocks void.
    """
    patterns = (BASE,) if version == OLDEST else (BASE, LOG)
    oldest, names = min(instants, default=""), (path.rpartition("/")[2] for path in sizes)
    matches = (pattern.fullmatch(name) for name in names for pattern in patterns)
    strays = {match[2] for match in matches if match and match[2] > oldest and match[2] not in instants}
    for instant in sorted(strays):
        problem = f"files of commit {instant} are in the table, but the timeline lacks that commit"
        yield Finding("timeline", problem, RESTORE)


def find_holes(table: str, history: Sequence[LedgerEntry]) -> Iterator[Finding]:
    """Yield the commits that do not start at the previous commit's end.  `history` is newest first.

    Commits of older versions did not record their start, and are compared by their ends.
    """
    for entry, before in pairwise(history):
        topic = f" --topic {entry.topic}" if entry.other_topics else ""
        for partition, end in before.seen_by(entry.topic).next_offsets.items():
            problem, is_hole = _break(entry, partition, end)
            if problem:
                where = f"commit {entry.instant}, partition {partition}: {problem}"
                command = f"ingest offsets set {table} --to {partition}={end}{topic}"
                again = f"Read the messages between again: `{command}`"
                yield Finding(
                    "offsets",
                    f"{where}, and commit {before.instant} ended at {end}",
                    again if is_hole else REPEATED,
                )


def _break(entry: LedgerEntry, partition: Partition, end: int) -> tuple[str, bool]:
    """Describe how a commit does not continue from an end, and tell whether messages are missing."""
    start, next_offset = entry.start_offsets.get(partition), entry.next_offsets.get(partition)
    if entry.start_offsets:
        text = "has no start" if start is None else f"starts at {start}"
        return ("" if start == end else text), start is not None and start > end
    is_back = entry.kind != "set-offsets" and (next_offset is None or next_offset < end)
    return (f"ends at {next_offset}" if is_back else ""), False
