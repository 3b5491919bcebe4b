"""The start of a run of one table: its last commit against the ends of its topic.

The table may be read with Hudi's classes or by its files: the checks are the same.
"""

from collections.abc import Mapping

import attrs

from ingest.compile.row_model import row_model
from ingest.errors import OffsetError
from ingest.hudi.options import check_hudi
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.retention import is_costly_to_read
from ingest.kafka.breaks import Consumed, Watermark
from ingest.kafka.ranges import TopicRanges, plan_ranges
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition
from ingest.run.work.context import Context
from ingest.tables import Feed, TableConfig


@attrs.frozen
class Start:
    """The table's last commit, the ranges to read, and the ends of the topic that bound them."""

    last: LedgerEntry | None
    ranges: TopicRanges
    watermarks: Mapping[Partition, Watermark]

    @property
    def reaches_ends(self) -> bool:
        """Whether the ranges go to the end of every partition."""
        ends = self.ranges.end_offsets()
        return all(ends[partition] >= mark.end for partition, mark in self.watermarks.items())


def find_start(
    run: Context,
    stored: StoredTable,
    feed: Feed,
    watermarks: Mapping[Partition, Watermark],
    *,
    is_checked: bool = False,
) -> Start:
    """Compare the table's last commit with the topic, and check the table file, unless a writer has.

    Raises TableFileError for `[hudi]`, TableChangedError for a table file that contradicts the table.
    """
    if not is_checked:
        check_hudi(feed.table)
        stored.check_options(feed.table)
        stored.check_config(feed.table)
    last = last_of(stored, feed)
    try:
        return Start(last, pending(feed, last, watermarks, run.max_offsets), watermarks)
    except OffsetError:
        # Another run may have committed beyond the ends that this run fetched at its start.
        marks = fetch_watermarks(run.settings.kafka, [feed.topic]).of(feed.topic)
        return Start(last, pending(feed, last, marks, run.max_offsets), marks)


def is_left_costly(run: Context, table: TableConfig, stored: StoredTable) -> bool:
    """Tell whether a run without new messages has to compact: an earlier upkeep failed, or was killed."""
    return run.settings.run.upkeep == "inline" and is_costly_to_read(stored, table)


def last_of(stored: StoredTable, feed: Feed) -> LedgerEntry | None:
    """Return the table's last commit, as its topic sees it."""
    last = stored.checkpoint()
    return last.seen_by(feed.source) if last and feed.source else last


def pending(
    feed: Feed,
    last: LedgerEntry | None,
    watermarks: Mapping[Partition, Watermark],
    max_offsets: int | None,
) -> TopicRanges:
    """Return the offset ranges of a run."""
    return plan_ranges(feed.topic, consumed(feed, last), watermarks, max_offsets)


def consumed(feed: Feed, last: LedgerEntry | None) -> Consumed:
    """Return how far a table has read its topic."""
    keeps_all = row_model(feed.table.target).keeps_changes
    if last is None:
        return Consumed(feed.name, keeps_all=keeps_all)
    read = last.next_offsets or None  # a topic that is new to the table is read from its first offset
    return Consumed(
        feed.name,
        read,
        last.high_offsets,
        last.topic_id,
        keeps_all,
        last.topic,
        is_several=feed.source is not None,
    )
