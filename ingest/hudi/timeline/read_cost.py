"""The files that a snapshot read of a merge-on-read table merges, by its commits."""

from collections.abc import Iterable, Iterator
from typing import Final

import attrs

from ingest.hudi.storage.folder import DataFolder
from ingest.hudi.timeline.damage import live_files
from ingest.hudi.timeline.row_count import BASE
from ingest.hudi.timeline.stored_commit import StoredCommit

_MEGABYTE: Final = 1_000_000
_COMPACTION: Final = "COMPACT"


@attrs.frozen
class ReadCost:
    """The log files that a snapshot read merges, and the base files that it merges them with."""

    log_files: int = 0
    log_bytes: int = 0
    base_bytes: int = 0
    """The base files with changes in log files.  A read takes the others as they are."""

    def __str__(self) -> str:
        return (
            f"{self.log_files} ({self.log_bytes / _MEGABYTE:,.1f} over {self.base_bytes / _MEGABYTE:,.1f} MB)"
        )


def measure_read_cost(commits: Iterable[StoredCommit], folder: DataFolder) -> ReadCost:
    """Measure the log files since the last compaction.  The commits are newest first.

    Lists the partitions of changed base files that are older than the compaction.  A log file that a
    bounded compaction left behind does not count.
    """
    files = list(live_files(_since_compaction(commits), None))
    logs: dict[str, int] = {}
    for file in files:
        if file.is_log:
            logs[file.path] = max(file.size, logs.get(file.path, 0))  # an append names the file again
    groups = {file.file_group: file.path.rpartition("/")[0] for file in files if file.is_log}
    bases = {file.file_group: file.size for file in files if not file.is_log}
    older = {group: partition for group, partition in groups.items() if group not in bases}
    for partition in set(older.values()):
        bases |= _newest_bases(folder, partition)
    return ReadCost(len(logs), sum(logs.values()), sum(bases.get(group, 0) for group in groups))


def _since_compaction(commits: Iterable[StoredCommit]) -> Iterator[StoredCommit]:
    """Yield the commits down to the newest compaction, which left no older log file."""
    for commit in commits:
        yield commit
        if commit.operation == _COMPACTION:
            return


def _newest_bases(folder: DataFolder, partition: str) -> dict[str, int]:
    """Return the bytes of the newest base file of each file group in a partition."""
    newest: dict[str, tuple[str, int]] = {}
    for file in folder.files(partition):
        if match := BASE.fullmatch(file.name):
            newest[match[1]] = max(newest.get(match[1], ("", 0)), (match[2], file.size))
    return {group: size for group, (_, size) in newest.items()}
