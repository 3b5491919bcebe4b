"""The archived timeline of a table, read from its files by pyarrow: no JVM, the extra `[files]`.

Hudi 1.2.0 keeps it as sorted Parquet files (timeline layout 2).  `_version_` names the manifest that lists
them.
"""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import TYPE_CHECKING, Final

from ingest.hudi.storage.folder import TableFolder, UnclearFilesError
from ingest.hudi.timeline.timeline_files import COMMIT_ACTIONS, ActionFile
from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from pyarrow import parquet
else:  # an extra
    parquet = LazyModule("pyarrow.parquet")

HISTORY: Final = ".hoodie/timeline/history"
HISTORY_OF_6: Final = ".hoodie/history"
_COLUMNS: Final = ["instantTime", "completionTime", "action", "metadata"]


def archived_commits(folder: TableFolder) -> tuple[ActionFile, ...]:
    """Return the archived commits, newest first.

    Raises UnclearFilesError for files that are not as Hudi 1.2.0 writes them, and without pyarrow.
    """
    if _has_files(folder, HISTORY_OF_6, ""):
        raise UnclearFilesError(f"{HISTORY_OF_6}: archived in log files, as tables of version 6 are")
    try:
        commits = [commit for file in _files(folder) for commit in _commits(file, folder.read(file))]
    except Exception as error:
        raise UnclearFilesError(f"{HISTORY}: {error}") from error
    return tuple(sorted(commits, key=lambda commit: commit.requested, reverse=True))


def has_archive(folder: TableFolder) -> bool:
    """Tell whether Hudi has moved commits out of the active timeline."""
    return _has_files(folder, HISTORY, ".parquet") or _has_files(folder, HISTORY_OF_6, "")


def _has_files(folder: TableFolder, history: str, end: str) -> bool:
    try:
        return any(file.name.endswith(end) for file in folder.files(history) if ".crc" not in file.name)
    except FileNotFoundError:
        return False


def _files(folder: TableFolder) -> Iterator[str]:
    """Yield the files of the newest manifest, in full size."""
    if not folder.sizes([f"{HISTORY}/_version_"]):
        if has_archive(folder):
            raise UnclearFilesError("files without a version")
        return
    version = folder.read(f"{HISTORY}/_version_").decode("ascii").strip()
    manifest = json.loads(folder.read(f"{HISTORY}/manifest_{version}"))["files"]
    files = {f"{HISTORY}/{entry['fileName']}": entry["fileLen"] for entry in manifest}
    sizes = folder.sizes(files)
    for path, size in files.items():
        if sizes.get(path) != size:
            raise UnclearFilesError(f"{path} is missing, or has another size")
        yield path


def _commits(file: str, content: bytes) -> Iterator[ActionFile]:
    for row in parquet.read_table(BytesIO(content), columns=_COLUMNS).to_pylist():
        if row["action"] not in COMMIT_ACTIONS:
            continue
        requested, completed, metadata = row["instantTime"], row["completionTime"], row["metadata"]
        name = f"{file}#{requested}"
        if not requested or not completed or not metadata:
            raise UnclearFilesError(f"{name}: is not a commit")
        yield ActionFile(requested, completed, row["action"], name, metadata.__bytes__)
