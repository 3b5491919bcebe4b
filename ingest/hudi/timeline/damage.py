"""Data files that commits name and storage lacks: the table would show older rows, without an error."""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Final

import attrs

from ingest.errors import LakeError

COMMITS: Final = 10
"""How many of the newest commits are checked."""
EVERY_FILE: Final = "insert_overwrite_table"
RESTORE: Final = "Restore the lake's files, or move the folder away to load the table again"


@attrs.frozen
class WrittenFile:
    """A file that a commit wrote; `path` is relative to the table."""

    instant: str
    file_group: str
    path: str
    size: int

    @property
    def is_log(self) -> bool:
        """Whether it holds changes of a base file."""
        return self.path.rpartition("/")[2].startswith(".")


@attrs.frozen
class CommittedFiles:
    """The files that a commit wrote, by an operation of Hudi, and the file groups that it replaced."""

    instant: str
    operation: str
    files: tuple[WrittenFile, ...]
    replaced: tuple[str, ...] = ()


def check_files(path: str, files: Iterable[WrittenFile], size_of: Callable[[str], int | None]) -> None:
    """Compare files of commits with storage: `size_of` gives the bytes of a path, None where it is missing.

    Raises LakeError for the first difference.
    """
    for problem in damaged_files(files, size_of):
        raise LakeError(path, problem, RESTORE)


def damaged_files(files: Iterable[WrittenFile], size_of: Callable[[str], int | None]) -> Iterator[str]:
    """Yield the differences between files of commits and storage."""
    for file in files:
        size = size_of(file.path)
        if size is None:
            yield f"commit {file.instant} wrote {file.path}, which is missing"
        elif size < file.size or (size > file.size and not file.is_log):
            yield f"commit {file.instant} wrote {file.path} with {file.size:,} bytes, found {size:,}"


def live_files(commits: Iterable[CommittedFiles], limit: int | None = COMMITS) -> Iterator[WrittenFile]:
    """Yield the files of commits that a reader needs; the commits are newest first, `limit` of them count.

    Older files of a file group may be cleaned: only its newest base file, and newer log files, have to exist.
    """
    complete: set[str] = set()  # file groups with their base file; older ones are not read
    for commit in islice(commits, limit):
        files = [file for file in commit.files if file.file_group not in complete]
        yield from files
        complete.update(file.file_group for file in files if not file.is_log)
        complete.update(commit.replaced)
        if commit.operation == EVERY_FILE:
            return


def largest_base(files: Iterable[WrittenFile]) -> int:
    """Return the bytes of the largest base file; 0 without a file."""
    return max((file.size for file in files if not file.is_log), default=0)
