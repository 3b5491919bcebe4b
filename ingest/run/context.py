"""Values that the tables of one run share."""

from contextlib import AbstractContextManager
from typing import Protocol

import attrs
from pyspark.sql import SparkSession

from ingest.hudi.lake import Lake
from ingest.hudi.lock import LockHandle, locked
from ingest.registry import Registry
from ingest.settings import Settings
from ingest.stop import Stop
from ingest.tables import TableConfig


class Progress(Protocol):
    """A listener for the steps of each table."""

    def __call__(self, table: str, step: str) -> None:
        """Note a step; called from the table's thread."""


class Jvm(Protocol):
    """The JVM below a run's Spark session."""

    def is_alive(self) -> bool:
        """Whether it answers and its Spark context is open."""

    def cause(self) -> str:
        """Say how it ended, as far as known."""

    def restart(self) -> SparkSession | None:
        """Start another one; None if it belongs to the caller.  Raises the errors of a start."""


@attrs.frozen
class Run:
    """Settings, Spark session, registry and stop of one run, shared by its tables."""

    run_id: str
    settings: Settings
    spark: SparkSession
    registry: Registry
    max_offsets: int | None
    progress: Progress
    stop: Stop = attrs.Factory(Stop)
    lake: Lake = attrs.field(init=False)
    """The tables, each opened once."""

    @lake.default
    def _open_lake(self) -> Lake:
        return Lake(self.spark, self.settings.lake)

    def enter(self, table: TableConfig, step: str) -> None:
        """Enter a table's next step, unless the table has to stop: then raise the reason."""
        self.stop.enter(table.name, step)
        self.progress(table.name, step)

    def locked(self, table: TableConfig) -> AbstractContextManager[LockHandle]:
        """Hold the table's lock."""
        return locked(self.spark, self.settings.lake, table.name, self.run_id, self.settings.run.lock_wait_s)
