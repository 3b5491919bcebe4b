"""The timeline of a table by Hudi's classes, which read every layout and every storage."""

import json
from base64 import b64decode
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import chain, repeat
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import LakeError
from ingest.hudi.storage.folder import RESTORE, UnclearFilesError
from ingest.hudi.storage.hadoop_files import HadoopFolder, lake_errors
from ingest.hudi.timeline.ledger import TABLE_SERVICES
from ingest.hudi.timeline.properties import BOOTSTRAPPED, HIVE_STYLE, KEYS, OLDEST, TYPES, TableProperties
from ingest.hudi.timeline.stored_commit import StoredCommit, WrittenFile
from ingest.hudi.timeline.timeline_files import COMMIT_ACTIONS, read_action
from ingest.names import Instant
from ingest.spark.java import jvm_of

_PAGES: Final = (1, 9, 90)
"""Commits to read in one call: a checkpoint needs one, the check of the files ten."""

Field = tuple[str, str, bool]
"""Name, Spark type and nullability of a column.  The type is DDL, in lower case except for field names."""


@attrs.frozen(eq=False)
class HudiTimeline:
    """The commits of the table at a path, as they were when it was opened (a `Timeline`).

    Raises LakeError for a damaged table, LakeUnreachableError for a storage that does not answer.
    """

    spark: SparkSession
    path: str
    client: Any
    """Hudi's view of the table."""

    @property
    def folder(self) -> HadoopFolder:
        """The data files."""
        return HadoopFolder(self.spark, self.path)

    @cached_property
    def _config(self) -> dict[str, Any]:
        answer = jvm_of(self.spark).io.hudicdc.ingest.hudi.StoredTable.config(self.client)
        config: dict[str, Any] = json.loads(answer)
        return config

    @property
    def is_bootstrapped(self) -> bool:
        """Whether the table refers to files of another one."""
        return BOOTSTRAPPED in self._config["properties"]

    @cached_property
    def properties(self) -> TableProperties:
        """The properties that a table file must agree with."""
        config = self._config
        return TableProperties(
            TYPES[config["type"]],
            tuple(config["keys"]),
            tuple(config["partitions"]),
            config["version"],
            config["properties"].get(HIVE_STYLE) == "true",
            KEYS in config["indexes"],
        )

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        """The columns in their order, without Hudi's own, empty before the first commit."""
        with lake_errors(self.path):
            answer = jvm_of(self.spark).io.hudicdc.ingest.hudi.StoredTable.fields(self.client)
        return tuple((name, ddl, nullable) for name, ddl, nullable in json.loads(answer or "[]"))

    @property
    def instants(self) -> frozenset[str]:
        """The requested times of the active timeline, pending ones included."""
        with lake_errors(self.path):
            return frozenset(instant.requested for instant in active_instants(self.spark, self.client))

    @property
    def completed(self) -> tuple[tuple[str, str], ...]:
        """When each completed commit of the active timeline was requested and completed, newest first."""
        with lake_errors(self.path):
            instants = active_instants(self.spark, self.client)
        commits = (
            instant for instant in instants if instant.is_completed and instant.action in COMMIT_ACTIONS
        )
        return tuple(sorted(((commit.requested, commit.completed or "") for commit in commits), reverse=True))

    def commits(self, *, archived: bool = False) -> Iterator[StoredCommit]:
        """Yield the completed commits, newest first, then those that Hudi has archived, if asked.

        Raises LakeError for a commit without content.
        """
        with lake_errors(self.path):
            yield from self._read(self.client.getActiveTimeline())
            if archived:
                timeline = self.client.getArchivedTimeline()
                timeline.loadCompletedInstantDetailsInMemory()
                yield from self._read(timeline)

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        with lake_errors(self.path):
            return not self.client.getArchivedTimeline().empty()

    def column_names(self) -> tuple[str, ...]:
        """Return the names of the columns."""
        return tuple(name for name, _, _ in self.fields)

    def check_actions(self) -> None:
        """Read the other completed actions: cleans, rollbacks, savepoints."""
        with lake_errors(self.path):
            timeline = self.client.getActiveTimeline()
            for instant in timeline.filterCompletedInstants().getInstants():
                if instant.getAction() not in COMMIT_ACTIONS:
                    content = timeline.getInstantDetails(instant)
                    self._check_action(instant, bytes(content.get()) if content.isPresent() else b"")

    def _check_action(self, instant: Any, content: bytes) -> None:
        try:
            read_action(f"{instant.requestedTime()}.{instant.getAction()}", content)
        except UnclearFilesError as error:
            raise LakeError(str(self.client.getBasePath()), str(error), RESTORE) from error

    def _read(self, timeline: Any) -> Iterator[StoredCommit]:
        reader = jvm_of(self.spark).io.hudicdc.ingest.hudi.CommitReader(timeline)
        for limit in chain(_PAGES, repeat(_PAGES[-1])):
            page = json.loads(b64decode(reader.read(limit)))
            yield from map(self._commit, page)
            if len(page) < limit:
                return

    def _commit(self, commit: Mapping[str, Any]) -> StoredCommit:
        instant, operation = Instant(commit["requested"]), commit["operation"]
        if commit["is_empty"] and operation not in TABLE_SERVICES:
            # Hudi 1.2.0 reads an empty file as a commit without content, and never writes one.  Later
            # versions refuse it (apache/hudi#18210).
            problem = "its file in the timeline is empty"
            raise LakeError(f"{self.path}, commit {instant}", problem, "Restore the lake's files")
        files = (WrittenFile(instant, *file) for file in commit["files"])
        ends = commit["completed"] if self.properties.version > OLDEST else ""
        completed, values, replaced = ends or instant, commit["values"], commit["replaced"]
        return StoredCommit(self.path, instant, completed, operation, values, files, tuple(replaced))


@attrs.frozen
class InstantState:
    """An instant of the active timeline.  `completed` is None for an action that has not ended."""

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
    answer = jvm_of(spark).io.hudicdc.ingest.hudi.StoredTable.timeline(client)
    return tuple(InstantState(*instant) for instant in json.loads(answer))
