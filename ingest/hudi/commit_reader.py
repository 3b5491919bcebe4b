"""The completed commits of a table, read by Hudi's classes in a few calls."""

import json
from collections.abc import Iterator, Mapping
from itertools import chain, repeat
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.damage import CommittedFiles, WrittenFile
from ingest.hudi.ledger import TABLE_SERVICES, LedgerEntry, entry_of
from ingest.java import jvm_of
from ingest.names import Instant

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
