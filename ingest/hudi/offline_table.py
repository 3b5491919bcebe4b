"""One Hudi table, read from its files without a JVM: checkpoint, checks and row count.

It answers as `HudiTable` does, or raises UnclearFilesError: then `HudiTable` has to be asked.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import BinaryIO

import attrs

from ingest.compile.event import CURRENT, DELETED
from ingest.hudi.options import options_digest
from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.storage.folders import open_folder
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.file_timeline import FileTimeline, open_timeline
from ingest.hudi.timeline.folder_size import FolderSize, measure
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.timeline.row_count import base_files, count_rows, names_spark, row_files
from ingest.names import Instant
from ingest.spark.hadoop_settings import HadoopSettings
from ingest.tables import TableConfig


@attrs.define(eq=False)
class OfflineTable(StoredTable):
    """A handle on the table at a path, by its files."""

    path: str
    hadoop: HadoopSettings
    folder: TableFolder | None = attrs.field(default=None, kw_only=True)
    """Its folder, if only a JVM reads its storage."""

    @cached_property
    def _folder(self) -> TableFolder | None:
        folder = self.folder or open_folder(self.path, self.hadoop)
        return folder if folder.exists() else None

    @cached_property
    def timeline(self) -> FileTimeline | None:
        """The timeline, or None if no folder exists."""
        return None if self._folder is None else open_timeline(self.path, self._folder)

    @property
    def _opened(self) -> FileTimeline:
        if self.timeline is None:
            raise UnclearFilesError(f"{self.path}: does not exist")
        return self.timeline

    def checkpoint(self) -> LedgerEntry | None:
        """Return the newest account.  Raises UnclearFilesError if the active timeline has none."""
        if self.timeline and self._newest is None and not any(self._entries(archived=False)):
            raise UnclearFilesError(f"{self.path}: the active timeline has no account")
        return super().checkpoint()

    def check_options(self, table: TableConfig) -> None:
        """Compare the `[hudi]` options with the newest commit's: only Hudi's classes check others."""
        checkpoint = self.checkpoint() if table.hudi else None
        if table.hudi and (checkpoint is None or checkpoint.checked_options != options_digest(table)):
            raise UnclearFilesError(f"{self.path}: [hudi] has options that no commit had")

    def count_rows(self, as_of: Instant | None = None) -> int:
        """Count the rows, or the rows that the table had as of an instant of the active timeline.

        Raises UnclearFilesError if rows are soft-deleted, in log files, or cleaned since that instant.
        """
        timeline, _ = self._opened, self.checkpoint()
        if as_of is not None and as_of < timeline.active.oldest_readable():
            raise UnclearFilesError(f"{self.path}: older files than those of {as_of} are cleaned")
        if as_of is not None:
            timeline = attrs.evolve(timeline, active=timeline.active.until(as_of))
        schema = next(timeline.commits()).schema
        if not schema or any(f'"{name}"' in schema for name in (DELETED, CURRENT)):
            raise UnclearFilesError(f"{self.path}: rows may be soft-deleted, or versions of the past")
        return count_rows(timeline)

    def size(self) -> FolderSize:
        """Measure the data files."""
        if self._folder is None:
            raise UnclearFilesError(f"{self.path}: does not exist")
        return measure(self._folder)

    def newest_instant(self) -> Instant | None:
        """Return the instant of the newest commit, or None before the first one."""
        commits = self.timeline.active.commits if self.timeline else ()
        return Instant(commits[0].requested) if commits else None

    def oldest_readable(self) -> str:
        """Return the instant of the oldest commit with all its files, or empty if none was cleaned."""
        return self._opened.active.oldest_readable()

    def row_files(self) -> dict[str, Instant]:
        """Return the commit of each file that holds rows, by URI.  Raises UnclearFilesError."""
        timeline = self._opened
        return {f"{timeline.folder.uri}/{file.path}": Instant(file.instant) for file in row_files(timeline)}

    def open_row_files(self) -> Iterator[BinaryIO]:
        """Open each file that holds rows.  Raises UnclearFilesError if only a merge shows them."""
        timeline = self._opened
        for file in row_files(timeline):
            with timeline.folder.open(file.path) as content:
                yield content

    def count_old_footers(self) -> int:
        """Count the base files that do not name Spark's version.  Raises UnclearFilesError."""
        timeline = self._opened
        return sum(not names_spark(timeline.folder, file.path) for file in base_files(timeline))
