"""What the tables of one run share."""

from contextlib import AbstractContextManager
from typing import Protocol

import attrs
from pyspark.sql import SparkSession

from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.lock import LockHandle, locked
from ingest.registry import Registry
from ingest.settings import Settings
from ingest.stop import Stop
from ingest.tables import TableConfig


class Progress(Protocol):
    """Hears which step a table has come to."""

    def __call__(self, table: str, step: str) -> None:
        """Note the step; called from the thread that runs the table."""


@attrs.frozen
class Run:
    """What the tables of one run share."""

    run_id: str
    settings: Settings
    spark: SparkSession
    registry: Registry
    max_offsets: int | None
    progress: Progress
    stop: Stop = attrs.Factory(Stop)
    last: dict[str, LedgerEntry | None] = attrs.Factory(dict)
    """The newest commit of each table that was looked at."""

    def path(self, table: TableConfig) -> str:
        """Return where the table lies."""
        return self.settings.lake.table_path(table.name)

    def rejects_path(self, table: TableConfig) -> str:
        """Return where the records that it set aside lie."""
        return self.settings.lake.rejects_path(table.name)

    def locked(self, table: TableConfig) -> AbstractContextManager[LockHandle]:
        """Hold the table's lock."""
        return locked(self.spark, self.settings.lake, table.name, self.run_id, self.settings.run.lock_wait_s)
