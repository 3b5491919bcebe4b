"""A table's commits, the files that they name, and the sizes in storage, by Hudi's and Hadoop's classes."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.commit_reader import read_commits
from ingest.hudi.damage import RESTORE, CommittedFiles, check_files, live_files
from ingest.hudi.ledger import entry_of
from ingest.hudi.storage import UnclearFilesError
from ingest.hudi.stored_commit import StoredCommit
from ingest.hudi.timeline_files import COMMIT_ACTIONS, read_action
from ingest.java import hadoop_of, jvm_of


def committed_files(
    spark: SparkSession, path: str, client: Any, *, archived: bool = False
) -> Iterator[CommittedFiles]:
    """Yield the files of the completed commits, newest first; then those of the archived ones, if asked."""
    return (commit.files for commit in read_commits(spark, path, client, archived=archived))


def stored_commits(spark: SparkSession, path: str, client: Any, *, archived: bool) -> Iterator[StoredCommit]:
    """Yield the completed commits, newest first, those that Hudi has archived last."""
    for commit in read_commits(spark, path, client, archived=archived):
        files = commit.files.files
        yield StoredCommit(
            commit.instant,
            commit.completed,
            commit.operation,
            entry_of(path, commit.instant, commit.operation, commit.values),
            commit.values.get("schema") or "",
            len(files),
            sum(file.size for file in files),
        )


def check_stored_files(spark: SparkSession, path: str, client: Any) -> None:
    """Compare the live files of the newest commits with storage.  Raises LakeError for a difference."""
    files = list(live_files(committed_files(spark, path, client)))
    if not files:
        return
    names = "\n".join(file.path for file in files)
    answer = jvm_of(spark).io.hudicdc.ingest.StoredTable.sizes(hadoop_of(spark), path, names)
    sizes = dict(zip((file.path for file in files), json.loads(answer), strict=True))
    check_files(path, files, sizes.get)


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
