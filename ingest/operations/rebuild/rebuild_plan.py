"""What a rebuild of a table would do: its changes, rows, time and disk space, and what forbids it."""

import shutil
from collections.abc import Callable, Mapping
from typing import Final, Literal

import attrs

from ingest.errors import RebuildError, TableChangedError
from ingest.hudi.fixed import FixedChange
from ingest.hudi.storage.local_files import local_folder
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.json_values import JsonValue
from ingest.kafka.breaks import Watermark, is_created_again, topic_id_of
from ingest.kafka.ranges import OffsetRange, TopicRanges
from ingest.moments import write_duration
from ingest.names import Partition
from ingest.run.work.context import Context
from ingest.spark import java
from ingest.tables import Feed, TableConfig
from ingest.typemap.readers import rebuild_caveat

Source = Literal["table", "topic"]
"""The source of a rebuild's rows."""

ROWS_PER_S: Final = 30_000
"""Rows a second to count on: two cores wrote 51,000, of 12 columns (docs/rebuild.md)."""
ROOM: Final = 1.1
"""Bytes of free disk for each byte of the table: its old files stay until they are cleaned."""
_MILLION: Final = 1_000_000
_FOLDERS: Final = ("target.partition_by", "target.hive_style_partitions")
"""Changes with which a rebuild also removes the old files."""


@attrs.frozen
class RebuildPlan(JsonValue):
    """A rebuild that would be done.  `free_bytes` is None if the storage does not say."""

    json_keys = (
        "changes source=needed_source rows bytes free_bytes about_seconds=seconds problem|null command"
    )

    table: str
    changes: tuple[FixedChange, ...]
    rows: int
    bytes: int
    free_bytes: int | None = None
    caveat: str = ""
    """The readers that show other rows after it."""

    @property
    def needed_source(self) -> Source:
        """The topic if a policy changed: the table has no values to convert."""
        return "topic" if any(change.needs_topic for change in self.changes) else "table"

    @property
    def command(self) -> str:
        """The command that does it."""
        option = " --from topic" if self.needed_source == "topic" else ""
        return f"ingest rebuild {self.table}{option}"

    @property
    def seconds(self) -> int:
        """About how long it takes."""
        return round(self.rows / ROWS_PER_S)

    @property
    def problem(self) -> str:
        """The lack of disk space, or empty if there is enough or the free space is unknown."""
        needed = round(self.bytes * ROOM)
        if self.free_bytes is None or self.free_bytes >= needed:
            return ""
        return f"it needs {_bytes(needed)} of disk, and {_bytes(self.free_bytes)} are free"

    def check_disk(self) -> None:
        """Raise RebuildError for too little disk space."""
        if self.problem:
            raise RebuildError(self.table, self.problem, "Free disk space; nothing was written")

    def __str__(self) -> str:
        changes = ", ".join(map(str, self.changes))
        return f"{changes}, {rows_text(self.rows)}, about {write_duration(max(60, self.seconds))}"


def plan_rebuild(
    table: TableConfig,
    stored: StoredTable,
    free_bytes: Callable[[str], int | None],
    changes: tuple[FixedChange, ...],
) -> RebuildPlan:
    """Return the plan of the changes of a table."""
    rows, size = stored.count_rows(), stored.data_size()
    is_removed = any(change.key in _FOLDERS for change in changes)
    caveat = "" if is_removed else rebuild_caveat(table.target)
    return RebuildPlan(table.name, changes, rows, size, free_bytes(stored.path), caveat)


def plan_refused(
    table: TableConfig,
    stored: StoredTable,
    free_bytes: Callable[[str], int | None],
    error: TableChangedError,
) -> RebuildPlan:
    """Return the plan of the rebuild without which runs are refused."""
    changes = stored.fixed_changes(table).all
    if not any(change.key == error.key for change in changes):  # of the compiled key, or of a sample of rows
        changes = (*changes, FixedChange(error.key, error.fixed, error.value))
    return plan_rebuild(table, stored, free_bytes, changes)


def free_by_files(run: Context) -> Callable[[str], int | None]:
    """Return a look at the free bytes of local disks, None for other storage."""

    def free_bytes(path: str) -> int | None:
        folder = local_folder(path, run.files.hadoop.default_fs)
        return None if folder is None else shutil.disk_usage(folder.root).free

    return free_bytes


def free_by_hadoop(run: Context) -> Callable[[str], int | None]:
    """Return a look at the free bytes of disks and of HDFS.  Object stores have no bound."""

    def free_bytes(path: str) -> int | None:
        spark = run.spark
        folder = java.jvm_of(spark).org.apache.hadoop.fs.Path(path)
        storage = folder.getFileSystem(java.hadoop_of(spark))
        is_bounded = storage.getUri().getScheme() in ("file", "hdfs")
        return int(storage.getStatus(folder).getRemaining()) if is_bounded else None

    return free_bytes


def whole_ranges(feed: Feed, last: LedgerEntry, watermarks: Mapping[Partition, Watermark]) -> TopicRanges:
    """Return the ranges of all messages that a table has applied.

    Raises RebuildError for a topic that does not have them any more.
    """
    if is_created_again(last.topic_id, watermarks):
        raise _not_whole(feed.table, "the topic was deleted and created again")
    ranges = []
    for partition, offset in sorted(last.next_offsets.items()):
        mark = watermarks.get(partition)
        end = max(offset, last.high_offsets.get(partition, 0))
        if mark is None or mark.end < end:
            raise _not_whole(feed.table, f"partition {partition} of the topic ends before offset {end}")
        if mark.begin > 0:
            raise _not_whole(
                feed.table, f"partition {partition} of the topic begins at offset {mark.begin}, not 0"
            )
        ranges.append(OffsetRange(feed.topic, partition, 0, end))
    return TopicRanges(feed.topic, tuple(ranges), topic_id_of(watermarks))


def _not_whole(table: TableConfig, problem: str) -> RebuildError:
    todo = (
        "Set the key back, or read a new snapshot of the source into a new table: change `table` in the file"
    )
    return RebuildError(table.name, f"{problem}: it may not have every row of the table", todo)


def rows_text(count: int) -> str:
    """Write a number of rows, in millions from one million on."""
    return f"{count / _MILLION:.1f} M rows" if count >= _MILLION else f"{count:,} rows"


def _bytes(count: int) -> str:
    return f"{count / _MILLION:,.1f} MB"
