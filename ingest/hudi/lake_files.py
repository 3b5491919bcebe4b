"""The tables of one lake as far as their files answer, without a JVM."""

import attrs

from ingest.hudi.local_files import UnclearFilesError
from ingest.hudi.table_files import TableFiles
from ingest.settings import LakeSettings
from ingest.tables import TableConfig


@attrs.frozen
class LakeFiles:
    """Opens tables by their files.  `default_fs` is Hadoop's file system of paths without a scheme."""

    settings: LakeSettings
    default_fs: str

    def table(self, table: TableConfig) -> TableFiles:
        """Return the Hudi table of a table file."""
        return TableFiles(self.settings.table_path(table.name), self.default_fs)

    def rejects(self, table: TableConfig) -> TableFiles:
        """Return the table of its rejects."""
        return TableFiles(self.settings.rejects_path(table.name), self.default_fs)

    def count_open(self, table: TableConfig) -> int:
        """Count the open rejects of a table.  Raises UnclearFilesError if its rejects table has rows."""
        rejects = self.rejects(table)
        if rejects.checkpoint() is not None and rejects.count_rows():
            raise UnclearFilesError(f"{rejects.path}: some rows may be open")
        return 0
