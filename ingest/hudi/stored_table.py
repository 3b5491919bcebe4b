"""A table in the lake: the rules that its timeline answers, whoever reads it."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from typing import Protocol

from ingest.errors import LakeError
from ingest.hudi import fixed
from ingest.hudi.fixed import FixedChanges
from ingest.hudi.storage.folder import RESTORE, DataFolder
from ingest.hudi.timeline.damage import damaged_files, live_files
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.properties import TableProperties
from ingest.hudi.timeline.read_cost import ReadCost, measure_read_cost
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.names import Instant
from ingest.tables import TableConfig, Target


class Timeline(Protocol):
    """The commits of one table: `FileTimeline` reads them from files, `HudiTimeline` by Hudi's classes."""

    @property
    def folder(self) -> DataFolder:
        """The data files."""

    @property
    def properties(self) -> TableProperties:
        """The properties that a table file must agree with."""

    @property
    def instants(self) -> frozenset[str]:
        """The requested times of the active timeline, pending ones included."""

    @property
    def completed(self) -> tuple[tuple[str, str], ...]:
        """When each completed commit of the active timeline was requested and completed, newest first."""

    def commits(self, *, archived: bool = False) -> Iterator[StoredCommit]:
        """Yield the completed commits, newest first, then those that Hudi has archived, if asked."""

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""

    def column_names(self) -> Collection[str]:
        """Return the names of the columns."""

    def check_actions(self) -> None:
        """Read the other completed actions: cleans, rollbacks, savepoints.  Raises for a damaged one."""


class StoredTable(ABC):
    """The table at a path, which may not exist yet.  Reads storage at first use."""

    path: str
    _newest: tuple[LedgerEntry, ...] | None = None

    @property
    @abstractmethod
    def timeline(self) -> Timeline | None:
        """The timeline, or None if there is no table yet."""

    @abstractmethod
    def check_options(self, table: TableConfig) -> None:
        """Check the values of the `[hudi]` options.  Raises TableFileError."""

    @abstractmethod
    def count_rows(self, as_of: Instant | None = None) -> int:
        """Count the rows, or those as of an instant, without soft-deleted ones and versions of the past."""

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest commit's account of itself, or None before the first commit."""
        if self._newest is None:
            self._newest = self.history(1)
        return self._newest[0] if self._newest else None

    def history(self, limit: int = sys.maxsize) -> tuple[LedgerEntry, ...]:
        """Return up to `limit` accounts, newest first.  Commits of other writers lack one."""
        return tuple(islice(self._entries(), limit))

    def commits(self, *, archived: bool = False) -> tuple[StoredCommit, ...]:
        """Return the commits of the active timeline, newest first, and the archived ones if asked for."""
        return tuple(self._commits(archived=archived))

    def each_commit(self) -> Iterator[StoredCommit]:
        """Yield the commits of the active timeline, newest first, each read when it is asked for."""
        return self._commits()

    def has_archive(self) -> bool:
        """Tell whether Hudi has moved older commits out of the active timeline."""
        return self.timeline is not None and self.timeline.has_archive()

    def largest_file(self) -> int:
        """Return the bytes of the largest base file of the newest commits, or 0 without a file."""
        return max((file.size for file in live_files(self._commits()) if not file.is_log), default=0)

    def lacks_index(self, target: Target) -> bool:
        """Tell whether the next commit makes the record index, from all files of the table."""
        properties = self.timeline.properties if self.timeline else None
        return bool(properties and not properties.has_record_index and target.index == "global_record")

    def next_bytes(self, target: Target) -> int:
        """Return about as many bytes as the next commit reads and writes in data files.

        A copy-on-write commit writes as many as the last one with rows.  Without an index of keys a global
        lookup reads all files, and the first commit with one makes it from them.
        """
        reads_all = target.index == "global_simple" or self.lacks_index(target)
        read = self.data_size() if reads_all else 0
        if target.type == "mor":
            return read
        return read + next((commit.bytes for commit in self._commits() if commit.entry and commit.files), 0)

    def data_size(self) -> int:
        """Return the bytes of the files that a reader needs."""
        return sum(file.size for file in live_files(self._commits(archived=True), None))

    def read_cost(self) -> ReadCost:
        """Return the files that a snapshot read of a merge-on-read table merges."""
        return measure_read_cost(self._commits(), self.timeline.folder) if self.timeline else ReadCost()

    def find_runs(self, run_ids: Collection[str]) -> frozenset[str]:
        """Return the runs among the given ones with a commit in the history, archived commits included."""
        missing = set(run_ids)
        for entry in self._entries() if missing else ():
            missing.discard(entry.run_id)
            if not missing:
                break
        return frozenset(run_ids) - missing

    def check_files(self) -> None:
        """Check that storage has the newest commits' files, in full size.  Raises LakeError."""
        files = list(live_files(self._commits()))
        sizes = self.timeline.folder.sizes(file.path for file in files) if files and self.timeline else {}
        for problem in damaged_files(files, sizes):
            raise LakeError(self.path, problem, RESTORE)

    def check_config(self, table: TableConfig) -> None:
        """Compare the table file with this table.  Raises TableChangedError for a part that is fixed."""
        self.refuse_foreign(table.name)
        fixed.check(table, self.fixed_changes(table).all)

    def fixed_changes(self, table: TableConfig, key_columns: Sequence[str] | None = None) -> FixedChanges:
        """Compare the fixed parts of a table file, and the compiled key if given, with this table."""
        checkpoint, timeline = self.checkpoint(), self.timeline
        if timeline is None or checkpoint is None:
            return FixedChanges()
        recorded = checkpoint.table_file
        return fixed.find_changes(table, timeline.properties, recorded, timeline.column_names, key_columns)

    def refuse_foreign(self, name: str) -> None:
        """Raise LakeError for a table that has commits, but not one with an account.

        A run must not mix its rows with another writer's.
        """
        commits = () if self.checkpoint() else self.commits()
        if commits:
            problem = f"holds a table of another writer: its {len(commits)} commits have no offsets of ingest"
            todo = f"Take over its rows: `ingest adopt {name} --dry-run`. Or move the folder away"
            raise LakeError(self.path, problem, todo)

    def _commits(self, *, archived: bool = False) -> Iterator[StoredCommit]:
        return self.timeline.commits(archived=archived) if self.timeline else iter(())

    def _entries(self, *, archived: bool = True) -> Iterator[LedgerEntry]:
        """Yield the accounts, newest first.  Commits without any are by others, or moved files only."""
        return (commit.entry for commit in self._commits(archived=archived) if commit.entry)
