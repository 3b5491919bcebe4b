"""The rows of a table to compare with its source: all live rows, or one topic's."""

from collections.abc import Mapping

import attrs
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ingest.hudi.table import HudiTable
from ingest.names import Partition
from ingest.run.batch.start import last_of
from ingest.tables import SOURCE, Feed


@attrs.frozen
class LakeRows:
    """The live rows of a table, or of one of its topics, and the offsets behind them."""

    stored: HudiTable
    feed: Feed

    def refresh(self) -> None:
        """Forget the state: a writer may have committed."""
        self.stored.refresh()

    def read(self) -> DataFrame:
        """Read the live rows."""
        rows = self.stored.live_rows()
        return rows.where(F.col(SOURCE) == self.feed.source) if self.feed.source else rows

    def next_offsets(self) -> Mapping[Partition, int]:
        """Return the topic's next offsets, empty before its first commit."""
        last = last_of(self.stored, self.feed)
        return last.next_offsets if last else {}
