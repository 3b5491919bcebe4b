"""The active timeline of a table on a local disk, read from its files: no JVM, under 1 ms a commit.

A completed action is a file `<requested>_<completed>.<action>`, in Avro (Hudi 1.2.0, timeline layout 2).
Whatever such files do not settle is left to Hudi: the archived timeline, damage, instants out of order.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import attrs
import fastavro

from ingest.hudi.damage import CommittedFiles, WrittenFile
from ingest.hudi.local_files import UnclearFilesError, read_checked

COMMIT_ACTIONS: Final = frozenset({"commit", "deltacommit", "replacecommit", "clustering"})
"""The actions of Hudi's commits timeline (`getCommitsTimeline`)."""
_COMPLETED: Final = re.compile(r"(\d{17})_(\d{17})\.([a-z]+)")
_PENDING: Final = re.compile(r"(\d{17})\.[a-z]+(\.[a-z]+)?")


@attrs.frozen
class CommitFile:
    """A completed commit in the timeline."""

    requested: str
    completed: str
    action: str
    file: Path

    def read(self) -> Mapping[str, Any]:
        """Return the commit's metadata.  Raises UnclearFilesError for a damaged file."""
        content = read_checked(self.file)
        try:
            metadata: Any = next(iter(fastavro.reader(BytesIO(content))))
        except Exception as error:
            raise UnclearFilesError(f"{self.file}: cannot be read: {error}") from error
        if not isinstance(metadata, dict) or not metadata.get("operationType"):
            raise UnclearFilesError(f"{self.file}: is not a commit")
        return metadata


@attrs.frozen
class ActiveTimeline:
    """The completed commits, newest first, and the requested times of all instants."""

    commits: tuple[CommitFile, ...]
    instants: frozenset[str]


def read_timeline(home: Path) -> ActiveTimeline:
    """List the active timeline of the table with the `.hoodie` folder `home`."""
    commits, instants = [], set()
    for file in (home / "timeline").iterdir():
        if not file.name[0].isdigit():
            continue
        completed, pending = _COMPLETED.fullmatch(file.name), _PENDING.fullmatch(file.name)
        match = completed or pending
        if match is None:
            raise UnclearFilesError(f"{file}: is not a name that Hudi 1.2.0 gives")
        instants.add(match[1])
        if completed and completed[3] in COMMIT_ACTIONS:
            commits.append(CommitFile(completed[1], completed[2], completed[3], file))
    commits.sort(key=lambda commit: commit.requested, reverse=True)
    _check_order(commits)
    return ActiveTimeline(tuple(commits), frozenset(instants))


def _check_order(commits: Sequence[CommitFile]) -> None:
    """Refuse commits that overlap in time: several writers were at work."""
    for newer, older in pairwise(commits):
        if newer.requested <= older.requested or newer.completed <= older.completed:
            raise UnclearFilesError(f"{newer.file}: overlaps with the commit of {older.requested}")


def committed_files(commits: Sequence[CommitFile]) -> Iterator[CommittedFiles]:
    """Yield the files of commits, as their metadata names them."""
    for commit in commits:
        metadata = commit.read()
        stats = [stat for stats in (metadata["partitionToWriteStats"] or {}).values() for stat in stats]
        replaced = (metadata.get("partitionToReplaceFileIds") or {}).values()
        yield CommittedFiles(
            commit.requested,
            metadata["operationType"].lower(),
            tuple(
                WrittenFile(commit.requested, stat["fileId"], stat["path"], stat["fileSizeInBytes"])
                for stat in stats
                if stat["path"] and (stat["fileSizeInBytes"] or 0) > 0
            ),
            tuple(file_group for file_groups in replaced for file_group in file_groups),
        )
