"""Data files that commits name and storage lacks: the table would show older rows, without an error."""

from collections.abc import Iterator
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.metaclient import RESTORE
from ingest.java import hadoop_of, jvm_of

COMMITS: Final = 10
"""How many of the newest commits are checked."""
EVERY_FILE: Final = "insert_overwrite_table"


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


def check_files(spark: SparkSession, path: str, client: Any) -> None:
    """Compare the live files of the newest commits with storage.  Raises LakeError for a difference.

    Older files of a file group may be cleaned: only its newest base file, and newer log files, have to exist.
    """
    jvm = jvm_of(spark)
    storage = jvm.org.apache.hadoop.fs.Path(path).getFileSystem(hadoop_of(spark))
    for file in live_files(client):
        full = jvm.org.apache.hadoop.fs.Path(f"{path}/{file.path}")
        if not storage.exists(full):
            raise LakeError(path, f"commit {file.instant} wrote {file.path}, which is missing", RESTORE)
        size = storage.getFileStatus(full).getLen()
        if size < file.size:
            problem = f"commit {file.instant} wrote {file.path} with {file.size:,} bytes, found {size:,}"
            raise LakeError(path, problem, RESTORE)


def live_files(client: Any) -> Iterator[WrittenFile]:
    """Yield the files of the newest commits that a reader needs, newest commit first."""
    commits = client.getActiveTimeline().getCommitsTimeline().filterCompletedInstants()
    instants = commits.getReverseOrderedInstants().iterator()
    complete: set[str] = set()  # file groups with their base file; what is older is not read
    for _ in range(COMMITS):
        if not instants.hasNext():
            return
        instant = instants.next()
        metadata = commits.readCommitMetadata(instant)
        files = [
            file for file in _files(instant.requestedTime(), metadata) if file.file_group not in complete
        ]
        yield from files
        complete.update(file.file_group for file in files if not file.is_log)
        if instant.getAction() == "replacecommit":
            complete.update(_replaced(commits.readReplaceCommitMetadata(instant)))
        if metadata.getOperationType().value() == EVERY_FILE:
            return


def _files(instant: str, metadata: Any) -> Iterator[WrittenFile]:
    for stats in metadata.getPartitionToWriteStats().values():
        for stat in stats:
            if stat.getPath() and stat.getFileSizeInBytes() > 0:
                yield WrittenFile(instant, stat.getFileId(), stat.getPath(), stat.getFileSizeInBytes())


def _replaced(metadata: Any) -> Iterator[str]:
    """Yield the file groups that a commit replaces."""
    for file_groups in metadata.getPartitionToReplaceFileIds().values():
        yield from file_groups
