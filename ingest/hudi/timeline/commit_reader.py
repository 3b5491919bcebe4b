"""The commits of a table, their files and the sizes in storage, by Hudi's and Hadoop's classes."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.hudi.timeline.damage import RESTORE, CommittedFiles, WrittenFile, check_files, live_files
from ingest.hudi.timeline.ledger import TABLE_SERVICES, LedgerEntry, entry_of
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.hudi.timeline.timeline_files import COMMIT_ACTIONS, read_action
from ingest.names import Instant
from ingest.spark.java import hadoop_of, jvm_of

_PAGES: Final = (1, 9, 90)
"""Commits to read in one call: a checkpoint needs one, the check of the files ten."""


@attrs.frozen
class CommitRecord:
    """A completed commit: its operation by Hudi's name, the texts that its writer added, and its files."""

    instant: Instant
    completed: str
    operation: str
    values: Mapping[str, str]
    files: CommittedFiles


@attrs.frozen
class InstantState:
    """An instant of the active timeline; `completed` is None for an action that has not ended."""

    requested: str
    completed: str | None
    action: str
    state: str

    @property
    def is_completed(self) -> bool:
        """Whether its action has ended."""
        return self.state == "COMPLETED"


def active_instants(spark: SparkSession, client: Any) -> tuple[InstantState, ...]:
    """Return the instants of the active timeline, oldest first.  Java's exceptions pass through."""
    answer = jvm_of(spark).io.hudicdc.ingest.StoredTable.timeline(client)
    return tuple(InstantState(*instant) for instant in json.loads(answer))


def read_commits(
    spark: SparkSession, path: str, client: Any, *, archived: bool = False
) -> Iterator[CommitRecord]:
    """Yield the completed commits, newest first; then those that Hudi has archived, if asked.

    Java's exceptions pass through.  Raises LakeError for a commit without content.
    """
    yield from _read(spark, path, client.getActiveTimeline())
    if archived:
        timeline = client.getArchivedTimeline()
        timeline.loadCompletedInstantDetailsInMemory()
        yield from _read(spark, path, timeline)


def entries(spark: SparkSession, path: str, client: Any, *, archived: bool = True) -> Iterator[LedgerEntry]:
    """Yield the accounts of the active timeline, newest first, then those that Hudi has archived.

    Commits without one (of other writers, compaction) are passed over.  Java's exceptions pass through.
    """
    for commit in read_commits(spark, path, client, archived=archived):
        entry = entry_of(path, commit.instant, commit.operation, commit.values)
        if entry is not None:
            yield entry


def _read(spark: SparkSession, path: str, timeline: Any) -> Iterator[CommitRecord]:
    reader = jvm_of(spark).io.hudicdc.ingest.CommitReader(timeline.getCommitsTimeline())
    for limit in chain(_PAGES, repeat(_PAGES[-1])):
        page = json.loads(reader.read(limit))
        for commit in page:
            yield _record(path, commit)
        if len(page) < limit:
            return


def _record(path: str, commit: Mapping[str, Any]) -> CommitRecord:
    instant, operation = Instant(commit["requested"]), commit["operation"]
    if commit["is_empty"] and operation not in TABLE_SERVICES:
        # Hudi 1.2.0 reads an empty file as a commit without content, and never writes one; later versions
        # refuse it (apache/hudi#18210).
        problem = "its file in the timeline is empty"
        raise LakeError(f"{path}, commit {instant}", problem, "Restore the lake's files")
    files = tuple(WrittenFile(instant, *file) for file in commit["files"])
    committed = CommittedFiles(instant, operation.lower(), files, tuple(commit["replaced"]))
    return CommitRecord(instant, commit["completed"] or instant, operation, commit["values"], committed)


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
