"""The tables of one lake as far as their files answer, without a JVM."""

import attrs

from ingest.hudi.locks.lock_holder import LOCK_FILE, read_holder
from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.reject_files import count_open_rows
from ingest.hudi.storage.local_files import LocalFolder, local_folder
from ingest.settings import LakeSettings
from ingest.spark.hadoop_settings import HadoopSettings
from ingest.tables import Feed, TableConfig


@attrs.frozen
class LakeFiles:
    """Opens tables by their files."""

    settings: LakeSettings
    hadoop: HadoopSettings

    def table(self, table: TableConfig) -> OfflineTable:
        """Return the Hudi table of a table file."""
        return self.at(self.settings.table_path(table.name))

    def at(self, path: str) -> OfflineTable:
        """Return the table at a path."""
        return OfflineTable(path, self.hadoop)

    def lock_holder(self, table: TableConfig) -> str | None:
        """Return the note of another writer of a table, or None if no local file shows one."""
        if self.settings.lock == "none":
            return None
        folder = self._lock_folder(table)
        return None if folder is None else read_holder(folder.root / LOCK_FILE)

    def shows_locks(self, table: TableConfig) -> bool:
        """Whether `lock_holder` sees the writers of a table: without locks there are none to see."""
        return self.settings.lock == "none" or self._lock_folder(table) is not None

    def _lock_folder(self, table: TableConfig) -> LocalFolder | None:
        return local_folder(self.settings.lock_path(table.name), self.hadoop.default_fs)

    def rejects(self, table: TableConfig) -> OfflineTable:
        """Return the table of its rejects."""
        return self.at(self.settings.rejects_path(table.name))

    def count_open(self, feed: Feed) -> int:
        """Count the open rejects of a table.  If it has any rejects, pyarrow reads them."""
        rejects = self.rejects(feed.table)
        if rejects.checkpoint() is None or not rejects.count_rows():
            return 0
        return count_open_rows(rejects, self.table(feed.table), feed.source)
