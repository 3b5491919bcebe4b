"""The open rejects of a table, counted from the files by pyarrow: no JVM, the extra `[files]`.

The rules are the same as in `ingest.hudi.rejects`: a row counts from the commit of the data on that holds its
offset, and is resolved while the commit of the run that resolved it is in the data's history.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from ingest.hudi.offline_table import OfflineTable
from ingest.hudi.storage.folder import UnclearFilesError
from ingest.lazy import LazyModule
from ingest.names import Topic

if TYPE_CHECKING:
    from pyarrow import parquet
else:  # an extra
    parquet = LazyModule("pyarrow.parquet")

MOST_ROWS: Final = 1_000_000
"""Beyond it Spark counts."""
_COLUMNS: Final = ["topic", "partition", "offset", "resolved", "resolved_by"]


def count_open_rows(rejects: OfflineTable, data: OfflineTable, source: Topic | None = None) -> int:
    """Count the open rejects of a table, or of one of its topics.

    Raises UnclearFilesError if the files are not conclusive.
    """
    last = data.checkpoint()
    if last is None:
        return 0
    if rejects.count_rows() > MOST_ROWS:
        raise UnclearFilesError(f"{rejects.path}: too many rows")
    ends = {
        (str(topic), int(partition)): end
        for topic in ((source,) if source else last.topics)
        for partition, end in last.seen_by(topic).next_offsets.items()
    }
    rows = [row for row in _rows(rejects) if row["offset"] < ends.get((row["topic"], row["partition"]), 0)]
    resolved_by = {row["resolved_by"] for row in rows if row["resolved_by"]}
    lost = resolved_by - data.find_runs(resolved_by)
    return sum(row["resolved"] is None or row["resolved_by"] in lost for row in rows)


def _rows(rejects: OfflineTable) -> Iterator[dict[str, Any]]:
    for content in rejects.open_row_files():
        try:
            rows = parquet.ParquetFile(content).read(columns=_COLUMNS)
        except Exception as error:
            raise UnclearFilesError(f"{rejects.path}: {error}") from error
        if rows.column_names != _COLUMNS:
            raise UnclearFilesError(f"{rejects.path}: a table of an older version")
        yield from rows.to_pylist()
