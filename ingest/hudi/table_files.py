"""One Hudi table, read from its files without a JVM: checkpoint, checks and row count.

It answers as `HudiTable` does, or raises UnclearFilesError: then `HudiTable` has to be asked.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import BinaryIO

from ingest.compile.event import CURRENT, DELETED
from ingest.hudi import fixed
from ingest.hudi.fixed import FixedChanges
from ingest.hudi.options import options_digest
from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.storage.folders import open_folder
from ingest.hudi.timeline.archive_files import archived_commits, has_archive
from ingest.hudi.timeline.damage import CommittedFiles, check_files, largest_base, live_files
from ingest.hudi.timeline.folder_size import FolderSize, measure
from ingest.hudi.timeline.ledger import TABLE_SERVICES, LedgerEntry, entry_of
from ingest.hudi.timeline.properties import TableProperties, read_properties
from ingest.hudi.timeline.row_count import base_files, count_rows, names_spark, row_files
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.hudi.timeline.timeline_files import (
    ActiveTimeline,
    CommitFile,
    committed_files,
    files_of,
    read_timeline,
)
from ingest.names import Instant
from ingest.spark.hadoop_settings import HadoopSettings
from ingest.tables import TableConfig


class TableFiles:
    """A handle on the table at a path, which may not exist yet.

    Reads storage at first use.
    """

    def __init__(self, path: str, hadoop: HadoopSettings) -> None:
        self.path = path
        self._hadoop = hadoop

    @cached_property
    def _folder(self) -> TableFolder | None:
        folder = open_folder(self.path, self._hadoop)
        return folder if folder.exists() else None

    @cached_property
    def _timeline(self) -> ActiveTimeline:
        return read_timeline(self._present_folder)

    @cached_property
    def _properties(self) -> TableProperties:
        return read_properties(self._present_folder)

    @cached_property
    def _newest(self) -> LedgerEntry:
        return next(self._entries())

    @property
    def _present_folder(self) -> TableFolder:
        if self._folder is None:
            raise UnclearFilesError(f"{self.path}: does not exist")
        return self._folder

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest commit's account of itself; None where no folder exists."""
        if self._folder is None:
            return None
        _ = self._properties  # a table that Hudi could not open does not have a checkpoint
        return self._newest

    def check_options(self, table: TableConfig) -> None:
        """Compare the `[hudi]` options with those of the newest commit: only Hudi's classes check others."""
        checkpoint = self.checkpoint() if table.hudi else None
        if table.hudi and (checkpoint is None or checkpoint.checked_options != options_digest(table)):
            raise UnclearFilesError(f"{self.path}: [hudi] has options that no commit had")

    def check_file(self, table: TableConfig) -> None:
        """Compare the table file with this table.  Raises TableChangedError for a part that is fixed."""
        fixed.check(table, self.fixed_changes(table).all)

    def is_half_rebuilt(self, table: TableConfig) -> bool:
        """Whether a rebuild by the table file was killed behind its commit."""
        return self.fixed_changes(table).is_half_done

    def fixed_changes(self, table: TableConfig) -> FixedChanges:
        """Compare the parts of a table file that are fixed with this table."""
        checkpoint = self.checkpoint()
        if checkpoint is None:
            return FixedChanges()
        return fixed.find_changes(table, self._properties, checkpoint.table_file, self._columns)

    def check_files(self) -> None:
        """Check that storage has the newest commits' files, in full size.  Raises LakeError."""
        if self.checkpoint() is not None:
            check_files(
                self.path, live_files(committed_files(self._timeline.commits)), self._present_folder.size_of
            )

    def largest_file(self) -> int:
        """Return the bytes of the largest base file of the newest commits; 0 without a file."""
        if self.checkpoint() is None:
            return 0
        return largest_base(live_files(committed_files(self._timeline.commits)))

    def count_rows(self, as_of: Instant | None = None) -> int:
        """Count the rows, or those that the table had as of an instant of the active timeline.

        Raises UnclearFilesError where rows are soft-deleted, in log files, or cleaned since that instant.
        """
        if self.checkpoint() is None:
            raise UnclearFilesError(f"{self.path}: does not exist")
        timeline = self._timeline if as_of is None else self._timeline.until(as_of)
        if as_of is not None and as_of < self._timeline.oldest_readable():
            raise UnclearFilesError(f"{self.path}: older files than those of {as_of} are cleaned")
        schema = timeline.commits[0].read()["extraMetadata"].get("schema") or ""
        if not schema or any(f'"{name}"' in schema for name in (DELETED, CURRENT)):
            raise UnclearFilesError(f"{self.path}: rows may be soft-deleted, or versions of the past")
        return count_rows(self._present_folder, timeline)

    def commits(self) -> tuple[StoredCommit, ...]:
        """Return the commits of the active timeline, newest first; the archived ones only Hudi reads."""
        if self.checkpoint() is None:
            return ()
        return tuple(self._stored_commit(commit) for commit in self._timeline.commits)

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        return self.checkpoint() is not None and has_archive(self._present_folder)

    def size(self) -> FolderSize:
        """Measure the data files."""
        return measure(self._present_folder)

    def _stored_commit(self, commit: CommitFile) -> StoredCommit:
        metadata, instant = commit.read(), Instant(commit.requested)
        values = metadata["extraMetadata"] or {}
        files = files_of(commit, metadata).files
        return StoredCommit(
            instant,
            commit.completed,
            metadata["operationType"],
            entry_of(self.path, instant, metadata["operationType"], values),
            values.get("schema") or "",
            len(files),
            sum(file.size for file in files),
        )

    def open_row_files(self) -> Iterator[BinaryIO]:
        """Open each file that holds rows.  Raises UnclearFilesError where only a merge shows them."""
        for file in row_files(self._present_folder, self._timeline):
            with self._present_folder.open(file) as content:
                yield content

    def count_old_footers(self) -> int:
        """Count the base files that do not name Spark's version.  Raises UnclearFilesError."""
        folder = self._present_folder
        return sum(not names_spark(folder, file) for file in base_files(folder, self._timeline))

    def exists(self) -> bool:
        """Tell whether the folder exists."""
        return self._folder is not None

    def instants(self) -> frozenset[str]:
        """Return the requested times of the active timeline, pending ones included."""
        return self._timeline.instants

    def accounts(self) -> tuple[LedgerEntry, ...]:
        """Return all accounts, newest first, archived ones included."""
        _ = self._properties
        return tuple(self._accounts(self._all_commits()))

    def committed(self) -> Iterator[CommittedFiles]:
        """Yield the files of all commits, newest first, archived ones included."""
        return committed_files(self._all_commits())

    def sizes(self) -> Mapping[str, int]:
        """Return the bytes of all data files by their paths."""
        return {file.path: file.size for file in self._present_folder.data_files()}

    def check_actions(self) -> None:
        """Read the other completed actions of the timeline.  Raises UnclearFilesError for damage."""
        for action in self._timeline.services:
            action.read()

    def _all_commits(self) -> tuple[CommitFile, ...]:
        active = self._timeline.commits
        if not active:
            raise UnclearFilesError(f"{self.path}: the active timeline has no commit")
        requested = {commit.requested for commit in active}  # a killed archival leaves an instant in both
        archived = archived_commits(self._present_folder)
        return (*active, *(commit for commit in archived if commit.requested not in requested))

    def _entries(self) -> Iterator[LedgerEntry]:
        """Yield the accounts of the active timeline, newest first; behind them lies the archived one."""
        yield from self._accounts(self._timeline.commits)
        raise UnclearFilesError(f"{self.path}: the active timeline has no further account")

    def _accounts(self, commits: Iterable[CommitFile]) -> Iterator[LedgerEntry]:
        for commit in commits:
            metadata = commit.read()
            operation, values = metadata["operationType"], metadata["extraMetadata"] or {}
            entry = entry_of(self.path, Instant(commit.requested), operation, values)
            if entry is not None:
                yield entry
            elif operation not in TABLE_SERVICES and not values and not metadata["partitionToWriteStats"]:
                raise UnclearFilesError(f"{commit.file}: is empty")

    def _columns(self) -> frozenset[str]:
        raise UnclearFilesError(f"{self.path}: a policy of the table file differs")
