"""Values that the tables of one run share."""

import math
from functools import cached_property
from typing import TYPE_CHECKING, Protocol, TypeVar

import attrs

from ingest.errors import IngestError
from ingest.hudi import lake as lakes
from ingest.hudi.lake_files import LakeFiles
from ingest.iceberg import tables as iceberg_tables
from ingest.registry import Registry
from ingest.run.work.memory import ReadLimits
from ingest.run.work.shared_reads import SharedReads
from ingest.run.work.steps import StepTimes
from ingest.settings import Settings
from ingest.stop import Stop
from ingest.tables import Feed, TableConfig, feeds

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from pyspark.sql import SparkSession

    from ingest.hudi.lake import Lake
    from ingest.iceberg.tables import IcebergTables
    from ingest.report.contract import Step
    from ingest.report.lineage import Lineage
    from ingest.run.work.beside import Beside
    from ingest.spark.driver import Driver

T = TypeVar("T")


class Progress(Protocol):
    """A listener for the steps of each table."""

    def __call__(self, table: str, step: str) -> None:
        """Note a step.  Called from the table's thread."""


@attrs.frozen
class Context:
    """The context of a command: its settings, JVM, registry, steps and stop, which its tables share."""

    run_id: str
    settings: Settings
    files: LakeFiles
    """The tables as far as their files answer without a JVM."""
    driver: "Driver"
    """The JVM, which starts with the first table that needs it."""
    open_registry: "Callable[[], Registry]"
    max_offsets: int | None
    progress: Progress
    stop: Stop = attrs.Factory(Stop)
    raises_signal: bool = True
    """Whether a signal is raised again after the work.  Otherwise the caller looks at `stop`."""
    steps: StepTimes = attrs.Factory(StepTimes)
    lineage: "Lineage | None" = None
    """The events for lineage tools, if the settings name a receiver."""
    beside: "Beside | None" = None
    """The tables at work beside it, if the run is a round of `--follow`."""
    waiting: dict[str, int] = attrs.field(factory=dict, init=False)
    """Messages to read by table, as far as known before Spark starts."""
    file_bytes: dict[str, int] = attrs.field(factory=dict, init=False)
    """Bytes of data files to read or rewrite by table, as far as known before Spark starts."""
    committed: "dict[str, datetime]" = attrs.field(factory=dict, init=False)
    """The last commits of the tables that a round of `--follow` is to write, before Spark starts."""
    holders: dict[str, str] = attrs.field(factory=dict, init=False)
    """The notes of other writers, by the tables that this run is to write, before Spark starts."""
    hanging: set[str] = attrs.field(factory=set, init=False)
    """Tables whose storage has not answered, before Spark starts."""
    reads: SharedReads = attrs.field(factory=SharedReads)
    limits: ReadLimits = attrs.field(
        default=attrs.Factory(lambda run: ReadLimits(run.settings.state_dir / "memory"), takes_self=True)
    )
    """What tables that ran out of memory may read at a time."""

    @cached_property
    def spark(self) -> "SparkSession":
        """The Spark session, started at its first use."""
        with self.steps.during("", "start"):
            self.progress("", "starting Spark")
            self.driver.is_short &= self.beside is None  # the JVM of `--follow` lasts
            return self.driver.start(sum(self.waiting.values()), sum(self.file_bytes.values()))

    @cached_property
    def registry(self) -> Registry:
        """The registry, opened at its first use: its client takes longer to load than an idle run."""
        return self.open_registry()

    @cached_property
    def lake(self) -> "Lake":
        """The tables, each opened once."""
        return lakes.Lake(self.spark, self.settings.lake)

    @cached_property
    def iceberg(self) -> "IcebergTables":
        """The Iceberg tables."""
        return iceberg_tables.IcebergTables(self.settings.iceberg, self.files, lambda: self.spark)

    def update_iceberg(self, table: TableConfig) -> None:
        """Bring the Iceberg table of a table up to its newest commit, if its file asks for one."""
        if "iceberg" in table.target.also:
            self.iceberg.update(table)

    def feeds(self, table: TableConfig) -> tuple[Feed, ...]:
        """Return the feed of each topic of a table, under the masks of the deployment."""
        return feeds(table, self.settings.masking.of_tables())

    def unread(self, table: TableConfig) -> float:
        """Return the messages that a table has to read, as far as known before Spark starts.

        Infinite if its storage hangs.
        """
        if table.name in self.hanging:
            return math.inf
        return sum(count for feed, count in self.waiting.items() if feed.split()[0] == table.name)

    def step(self, table: TableConfig, detail: str, kind: "Step | None" = None) -> None:
        """Enter a table's next step, unless the table has to stop: then raise the reason.

        `kind` is the part of the report that its time belongs to, by default the present one.
        """
        self.stop.check(table.name)
        self.steps.enter(table.name, detail, kind)
        self.progress(table.name, detail)

    def note_holder(self, table: TableConfig) -> bool:
        """Note the other writer of a table that is to be written, if there is one."""
        holder = self.files.lock_holder(table)
        if holder is None:
            self.holders.pop(table.name, None)
            return False
        self.holders[table.name] = holder
        return True


class TableTask(Protocol[T]):
    """Work on single tables, and the results that a fleet collects."""

    def by_files(self, run: Context, table: TableConfig) -> T | None:
        """Return the result of a table that does without a JVM, or None.  May raise anything.

        Only an IngestError counts as a result: after any other exception `with_spark` is called.
        """

    def with_spark(self, run: Context, table: TableConfig) -> T:
        """Return the result of a table, in the table's thread.  May raise anything."""

    def finish(self, run: Context, table: TableConfig, result: T | IngestError, seconds: float, /) -> T:
        """Return the final result of a table, in the caller's thread."""
