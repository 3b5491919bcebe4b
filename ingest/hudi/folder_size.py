"""The size of a table on a local disk: its files, and the versions of them that Hudi keeps."""

import os
from pathlib import Path

import attrs

from ingest.hudi.local_files import UnclearFilesError
from ingest.hudi.row_count import BASE, LOG, data_files


@attrs.frozen
class FolderSize:
    """The data files of a table; every file group has one base file that counts, and older versions."""

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


def measure(folder: Path) -> FolderSize:
    """Measure the data files below a folder.  Raises UnclearFilesError if the folder cannot be read."""
    newest: dict[str, tuple[str, int]] = {}
    total = base_files = log_files = 0
    try:
        for file in data_files(folder):
            base, is_log = BASE.fullmatch(file.name), LOG.fullmatch(file.name) is not None
            if not base and not is_log:
                continue
            size = os.stat(file).st_size  # noqa: PTH116  faster for many files
            total, log_files = total + size, log_files + is_log
            if base:
                base_files += 1
                newest[base[1]] = max(newest.get(base[1], ("", 0)), (base[2], size))
    except OSError as error:
        raise UnclearFilesError(f"{folder}: {error}") from error
    return FolderSize(total, base_files, log_files, len(newest), sum(size for _, size in newest.values()))
