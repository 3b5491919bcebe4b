"""The size of a table: its files, and the versions of them that Hudi keeps."""

import attrs

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.timeline.row_count import BASE, LOG


@attrs.frozen
class FolderSize:
    """The data files of a table.  Every file group has one base file that counts, and older versions."""

    bytes: int
    base_files: int
    log_files: int
    file_groups: int
    newest_bytes: int
    """The newest base file of each group."""

    @property
    def versions(self) -> float:
        """Base files per file group."""
        return self.base_files / self.file_groups if self.file_groups else 0.0


def measure(folder: TableFolder) -> FolderSize:
    """Measure the data files below a folder.  Raises UnclearFilesError if the folder cannot be read."""
    newest: dict[str, tuple[str, int]] = {}
    total = base_files = log_files = 0
    try:
        for file in folder.data_files():
            base, is_log = BASE.fullmatch(file.name), LOG.fullmatch(file.name) is not None
            if not base and not is_log:
                continue
            total, log_files = total + file.size, log_files + is_log
            if base:
                base_files += 1
                newest[base[1]] = max(newest.get(base[1], ("", 0)), (base[2], file.size))
    except OSError as error:
        raise UnclearFilesError(f"the folder cannot be listed: {error}") from error
    return FolderSize(total, base_files, log_files, len(newest), sum(size for _, size in newest.values()))
