"""One Hudi table on a local disk, read from its files without a JVM: checkpoint, checks and row count.

It answers as `HudiTable` does, or raises UnclearFilesError: then `HudiTable` has to be asked.
"""

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from ingest.compile.event import DELETED
from ingest.hudi import fixed
from ingest.hudi.damage import check_files, live_files
from ingest.hudi.folder_size import FolderSize, measure
from ingest.hudi.ledger import TABLE_SERVICES, LedgerEntry, entry_of
from ingest.hudi.local_files import UnclearFilesError, local_folder
from ingest.hudi.properties import TableProperties, read_properties
from ingest.hudi.row_count import count_rows
from ingest.hudi.stored_commit import StoredCommit
from ingest.hudi.timeline_files import ActiveTimeline, CommitFile, committed_files, files_of, read_timeline
from ingest.names import Instant
from ingest.tables import TableConfig


class TableFiles:
    """A handle on the table at a path, which may not exist yet.

    Reads storage at first use.  `default_fs` is Hadoop's file system of paths without a scheme.
    """

    def __init__(self, path: str, default_fs: str) -> None:
        self.path = path
        self._default_fs = default_fs

    @cached_property
    def _folder(self) -> Path | None:
        folder = local_folder(self.path, self._default_fs)
        return folder if folder.exists() else None

    @cached_property
    def _timeline(self) -> ActiveTimeline:
        return read_timeline(self._home)

    @cached_property
    def _properties(self) -> TableProperties:
        return read_properties(self._home)

    @cached_property
    def _newest(self) -> LedgerEntry:
        return next(self._entries())

    @property
    def _home(self) -> Path:
        if self._folder is None:
            raise UnclearFilesError(f"{self.path}: does not exist")
        return self._folder / ".hoodie"

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest commit's account of itself; None where no folder exists."""
        if self._folder is None:
            return None
        _ = self._properties  # a table that Hudi could not open does not have a checkpoint
        return self._newest

    def check_options(self, table: TableConfig) -> None:
        """Check the values of the `[hudi]` options: only Hudi's classes can."""
        if table.hudi:
            raise UnclearFilesError(f"{self.path}: [hudi] has options")

    def check_file(self, table: TableConfig) -> None:
        """Compare the table file with this table.  Raises TableChangedError for a part that is fixed."""
        checkpoint = self.checkpoint()
        if checkpoint is None:
            return
        fixed.check_properties(table, self._properties)
        fixed.check_recorded(table, checkpoint.table_file, self._columns)

    def check_files(self) -> None:
        """Check that storage has the newest commits' files, in full size.  Raises LakeError."""
        if self.checkpoint() is not None:
            check_files(self.path, live_files(committed_files(self._timeline.commits)), self._size_of)

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
        if not schema or f'"{DELETED}"' in schema:
            raise UnclearFilesError(f"{self.path}: rows may be soft-deleted")
        return count_rows(self._home.parent, timeline)

    def commits(self) -> tuple[StoredCommit, ...]:
        """Return the commits of the active timeline, newest first; the archived ones only Hudi reads."""
        if self.checkpoint() is None:
            return ()
        return tuple(self._stored_commit(commit) for commit in self._timeline.commits)

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        history = self._home / "timeline" / "history" if self.checkpoint() is not None else None
        return history is not None and any(history.glob("*.parquet"))

    def size(self) -> FolderSize:
        """Measure the data files."""
        return measure(self._home.parent)

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

    def _entries(self) -> Iterator[LedgerEntry]:
        """Yield the accounts of the active timeline, newest first; behind them lies the archived one."""
        for commit in self._timeline.commits:
            metadata = commit.read()
            operation, values = metadata["operationType"], metadata["extraMetadata"] or {}
            entry = entry_of(self.path, Instant(commit.requested), operation, values)
            if entry is not None:
                yield entry
            elif operation not in TABLE_SERVICES and not values and not metadata["partitionToWriteStats"]:
                raise UnclearFilesError(f"{commit.file}: is empty")
        raise UnclearFilesError(f"{self.path}: the active timeline has no further account")

    def _columns(self) -> frozenset[str]:
        raise UnclearFilesError(f"{self.path}: a policy of the table file differs")

    def _size_of(self, path: str) -> int | None:
        file = Path(self.path if self._folder is None else self._folder, path)
        return file.stat().st_size if file.exists() else None
