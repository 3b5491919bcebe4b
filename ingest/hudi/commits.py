"""The files of a table's commits, and their sizes, by Hudi's and Hadoop's classes."""

from collections.abc import Iterator
from typing import Any

from pyspark.sql import SparkSession

from ingest.hudi.damage import CommittedFiles, WrittenFile, check_files, live_files
from ingest.hudi.ledger import account_of, completed_commits, entry_of
from ingest.hudi.stored_commit import StoredCommit
from ingest.java import hadoop_of, jvm_of
from ingest.names import Instant


def committed_files(client: Any) -> Iterator[CommittedFiles]:
    """Yield the files of the completed commits, newest first."""
    commits = client.getActiveTimeline().getCommitsTimeline().filterCompletedInstants()
    instants = commits.getReverseOrderedInstants().iterator()
    while instants.hasNext():
        instant = instants.next()
        metadata = commits.readCommitMetadata(instant)
        is_replacing = instant.getAction() == "replacecommit"
        yield CommittedFiles(
            instant.requestedTime(),
            metadata.getOperationType().value(),
            tuple(_files(instant.requestedTime(), metadata)),
            tuple(_replaced(commits.readReplaceCommitMetadata(instant))) if is_replacing else (),
        )


def stored_commits(path: str, client: Any, *, archived: bool) -> Iterator[StoredCommit]:
    """Yield the completed commits, newest first, those that Hudi has archived last."""
    for instant, metadata in completed_commits(path, client, archived=archived):
        operation, values = account_of(metadata)
        requested = Instant(instant.requestedTime())
        files = tuple(_files(requested, metadata))
        yield StoredCommit(
            requested,
            instant.getCompletionTime() or requested,
            operation,
            entry_of(path, requested, operation, values),
            values.get("schema") or "",
            len(files),
            sum(file.size for file in files),
        )


def check_stored_files(spark: SparkSession, path: str, client: Any) -> None:
    """Compare the live files of the newest commits with storage.  Raises LakeError for a difference."""
    jvm = jvm_of(spark)
    storage = jvm.org.apache.hadoop.fs.Path(path).getFileSystem(hadoop_of(spark))

    def size_of(name: str) -> int | None:
        full = jvm.org.apache.hadoop.fs.Path(f"{path}/{name}")
        return storage.getFileStatus(full).getLen() if storage.exists(full) else None

    check_files(path, live_files(committed_files(client)), size_of)


def _files(instant: str, metadata: Any) -> Iterator[WrittenFile]:
    for stats in metadata.getPartitionToWriteStats().values():
        for stat in stats:
            if stat.getPath() and stat.getFileSizeInBytes() > 0:
                yield WrittenFile(instant, stat.getFileId(), stat.getPath(), stat.getFileSizeInBytes())


def _replaced(metadata: Any) -> Iterator[str]:
    """Yield the file groups that a commit replaces."""
    for file_groups in metadata.getPartitionToReplaceFileIds().values():
        yield from file_groups
