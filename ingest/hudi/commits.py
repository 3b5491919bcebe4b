"""A table's commits, the files that they name, and the sizes in storage, by Hudi's and Hadoop's classes."""

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.damage import RESTORE, CommittedFiles, WrittenFile, check_files, live_files
from ingest.hudi.ledger import account_of, completed_commits, entry_of
from ingest.hudi.storage import UnclearFilesError
from ingest.hudi.stored_commit import StoredCommit
from ingest.hudi.timeline_files import COMMIT_ACTIONS, read_action
from ingest.java import hadoop_of, jvm_of
from ingest.names import Instant


def committed_files(client: Any, *, archived: bool = False) -> Iterator[CommittedFiles]:
    """Yield the files of the completed commits, newest first; then those of the archived ones, if asked."""
    yield from _committed_files(client.getActiveTimeline().getCommitsTimeline())
    if archived:
        timeline = client.getArchivedTimeline()
        timeline.loadCompletedInstantDetailsInMemory()
        yield from _committed_files(timeline.getCommitsTimeline())


def _committed_files(timeline: Any) -> Iterator[CommittedFiles]:
    commits = timeline.filterCompletedInstants()
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


def stored_sizes(spark: SparkSession, path: str) -> Mapping[str, int]:
    """Return the bytes of all files of a table by their paths, but for those in `.hoodie`."""
    jvm = jvm_of(spark)
    root = jvm.org.apache.hadoop.fs.Path(path)
    storage = root.getFileSystem(hadoop_of(spark))
    prefix = f"{storage.getFileStatus(root).getPath().toUri().getPath()}/"
    sizes: dict[str, int] = {}
    for child in storage.listStatus(root):
        if child.getPath().getName() != ".hoodie":
            sizes |= _sizes_below(storage, child, prefix)
    return sizes


def _sizes_below(storage: Any, status: Any, prefix: str) -> Mapping[str, int]:
    if status.isFile():
        return {status.getPath().toUri().getPath().removeprefix(prefix): status.getLen()}
    files, sizes = storage.listFiles(status.getPath(), True), {}  # noqa: FBT003  Java's: with its folders
    while files.hasNext():
        file = files.next()
        sizes[file.getPath().toUri().getPath().removeprefix(prefix)] = file.getLen()
    return sizes


def read_actions(client: Any) -> None:
    """Read the other completed actions of the active timeline.  Raises LakeError for a damaged one."""
    timeline = client.getActiveTimeline()
    instants = timeline.filterCompletedInstants().getInstants().iterator()
    while instants.hasNext():
        instant = instants.next()
        if instant.getAction() not in COMMIT_ACTIONS:
            file = f"{instant.requestedTime()}.{instant.getAction()}"
            content = timeline.getInstantDetails(instant)
            try:
                read_action(file, bytes(content.get()) if content.isPresent() else b"")
            except UnclearFilesError as error:
                raise LakeError(str(client.getBasePath()), str(error), RESTORE) from error


def _files(instant: str, metadata: Any) -> Iterator[WrittenFile]:
    for stats in metadata.getPartitionToWriteStats().values():
        for stat in stats:
            if stat.getPath() and stat.getFileSizeInBytes() > 0:
                yield WrittenFile(instant, stat.getFileId(), stat.getPath(), stat.getFileSizeInBytes())


def _replaced(metadata: Any) -> Iterator[str]:
    """Yield the file groups that a commit replaces."""
    for file_groups in metadata.getPartitionToReplaceFileIds().values():
        yield from file_groups
