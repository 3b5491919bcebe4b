"""The number of rows of a table, from the footers of its Parquet files: no JVM, and no column is read.

Hudi reads the newest base file of each file group, of the completed commits.  Log files change the rows of
their group in a manner that only a merge shows: such a table is left to Spark.
"""

import re
from itertools import pairwise
from typing import Final

import attrs

from ingest.hudi.parquet_footer import read_row_count
from ingest.hudi.storage import StoredFile, TableFolder, UnclearFilesError
from ingest.hudi.timeline_files import ActiveTimeline, committed_files

BASE: Final = re.compile(r"(.+)_[\d-]+_(\d{17})\.parquet")
LOG: Final = re.compile(r"\.(.+)_(\d{17})\.log\.\d+_[\d-]+(\.cdc)?")


@attrs.frozen
class BaseFile:
    """A Parquet file, written by the commit of an instant."""

    instant: str
    path: str


@attrs.define
class FileGroups:
    """By file group, the newest base file, and the instant of the newest log file."""

    bases: dict[str, BaseFile] = attrs.Factory(dict)
    logs: dict[str, str] = attrs.Factory(dict)

    def add(self, file: StoredFile, timeline: ActiveTimeline) -> None:
        """Add a file, unless its commit does not count."""
        base, log = BASE.fullmatch(file.name), LOG.fullmatch(file.name)
        if base and is_completed(base[2], timeline):
            version = BaseFile(base[2], file.path)
            present = self.bases.setdefault(base[1], version)
            self.bases[base[1]] = max(present, version, key=lambda candidate: candidate.instant)
        elif log and log[3] is None:  # those of change data capture hold no rows
            self.logs[log[1]] = max(log[2], self.logs.get(log[1], ""))
        elif not base and not log and _is_unknown(file.name):
            raise UnclearFilesError(f"{file.path}: is not a name that Hudi 1.2.0 gives")

    def has_newer_log(self, file_group: str) -> bool:
        """Tell whether changes of a group lie in log files."""
        base = self.bases.get(file_group)
        return file_group in self.logs and (base is None or self.logs[file_group] > base.instant)


def count_rows(folder: TableFolder, timeline: ActiveTimeline) -> int:
    """Count the rows of the table in a folder.  Raises UnclearFilesError where only a merge shows them."""
    return sum(read_row_count(folder, file) for file in row_files(folder, timeline))


def base_files(folder: TableFolder, timeline: ActiveTimeline) -> list[str]:
    """Return the newest base file of each file group.  Raises UnclearFilesError."""
    groups, replaced = _groups(folder, timeline)
    return [base.path for group, base in groups.bases.items() if group not in replaced]


def row_files(folder: TableFolder, timeline: ActiveTimeline) -> list[str]:
    """Return the files that hold the rows.  Raises UnclearFilesError where only a merge shows them."""
    groups, replaced = _groups(folder, timeline)
    is_parallel = any(older.completed > newer.requested for newer, older in pairwise(timeline.commits))
    if groups.logs and is_parallel:
        raise UnclearFilesError("the log files may belong to either of two base files")
    if any(groups.has_newer_log(group) for group in groups.logs.keys() - replaced):
        raise UnclearFilesError("log files hold changes of rows")
    return [base.path for group, base in groups.bases.items() if group not in replaced]


def _groups(folder: TableFolder, timeline: ActiveTimeline) -> tuple[FileGroups, set[str]]:
    """Return the file groups, and the names of those that a commit replaced."""
    replacing = [commit for commit in timeline.commits if commit.action == "replacecommit"]
    groups = FileGroups()
    for file in folder.data_files():
        groups.add(file, timeline)
    return groups, {group for commit in committed_files(replacing) for group in commit.replaced}


def is_completed(instant: str, timeline: ActiveTimeline) -> bool:
    """Tell whether the commit of an instant counts; archived commits are older than all active instants."""
    if any(commit.requested == instant for commit in timeline.commits):
        return True
    if instant in timeline.instants:
        return False
    if instant < min(timeline.instants, default=""):
        return True
    raise UnclearFilesError(f"instant {instant} is not in the active timeline")


def _is_unknown(name: str) -> bool:
    """Tell files that may hold rows from markers and checksums."""
    return not name.endswith(".crc") and (".log." in name or not name.startswith((".", "_")))
