"""Data files that commits name and storage lacks: the table would show older rows, without an error."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile

COMMITS: Final = 10
"""How many of the newest commits are checked."""
EVERY_FILE: Final = "INSERT_OVERWRITE_TABLE"


def damaged_files(files: Iterable[WrittenFile], sizes: Mapping[str, int]) -> Iterator[str]:
    """Yield the differences between files of commits and storage, which has `sizes` by path."""
    for file in files:
        size = sizes.get(file.path)
        if size is None:
            yield f"commit {file.instant} wrote {file.path}, which is missing"
        elif size < file.size or (size > file.size and not file.is_log):
            yield f"commit {file.instant} wrote {file.path} with {file.size:,} bytes, found {size:,}"


def live_files(commits: Iterable[StoredCommit], limit: int | None = COMMITS) -> Iterator[WrittenFile]:
    """Yield the files that a reader needs, of the first `limit` commits, which are newest first.

    Older files of a file group may be cleaned: only its newest base file, and newer log files, have to exist.
    """
    complete: set[str] = set()  # file groups with their base file: older ones are not read
    for commit in islice(commits, limit):
        files = [file for file in commit.files if file.file_group not in complete]
        yield from files
        complete.update(file.file_group for file in files if not file.is_log)
        complete.update(commit.replaced)
        if commit.operation == EVERY_FILE:
            return
