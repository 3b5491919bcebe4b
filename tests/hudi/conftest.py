"""A lake in a temporary folder, and short ways to commit to it and to read it with plain Spark."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.hudi.options import Operation
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up
from ingest.names import Instant, Partition, Subject, Topic
from ingest.run.work.writer import Requirements
from ingest.spark.hadoop_settings import LOCAL, HadoopSettings
from ingest.tables import Subjects, TableConfig, Target


def entry_of(run: int) -> LedgerEntry:
    """Make the ledger entry of a numbered run that read up to offset 10 * run."""
    offsets = {Partition(0): 10 * run, Partition(11): run}
    return LedgerEntry(f"run-{run}", Topic("s.dbo.t"), offsets, offsets, (), {"read": 10})


@attrs.define
class Lake:
    """Tables under one folder; every commit gets the next run's entry."""

    SHORT_MEMORY: ClassVar = {
        "hoodie.clean.trigger.max.commits": "1",
        "hoodie.clean.commits.retained": "1",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.compact.inline.max.delta.commits": "3",
    }
    """Options with which a few commits are cleaned, archived and compacted."""
    SERVICES: ClassVar = {"hoodie.clean.automatic": "true", "hoodie.archive.automatic": "true"}
    """Options of a writer that lets Hudi clean and archive inside its writes."""

    spark: SparkSession
    root: Path | str
    runs: int = 0
    hadoop: HadoopSettings = LOCAL
    """The settings by which the files are read without a JVM."""

    def table(self, name: str, **target: Any) -> TableConfig:
        """Make a table file's value."""
        topic = Topic(f"s.dbo.{name}")
        subjects = Subjects(value=Subject(f"{topic}-value"))
        return TableConfig(
            name=name, topic=topic, dialect="sqlserver", subjects=subjects, target=Target(**target)
        )

    def path(self, table: TableConfig) -> str:
        """Give the table's path."""
        return f"{self.root}/{table.name}"

    def commit(
        self, table: TableConfig, frame: DataFrame, keys: Sequence[str] = ("id",), *, keeps_up: bool = True
    ) -> Instant:
        """Write a frame as the next run does, with its requirements and its upkeep."""
        self.runs += 1
        stored = self.open(table)
        Requirements(table).check(stored)
        instant = stored.commit(frame, table, keys, self.operation(table), entry_of(self.runs)).instant
        assert instant is not None
        if keeps_up:
            keep_up(stored, table)
        return instant

    def operation(self, table: TableConfig) -> Operation:
        """Return the operation of the table's next commit."""
        return "load" if self.open(table).columns() is None else "upsert"

    def open(self, table: TableConfig) -> HudiTable:
        """Open the table, as a run does."""
        return HudiTable(self.spark, self.path(table))

    def changes(self, ddl: str, *rows: tuple[Any, ...]) -> DataFrame:
        """Make a folded batch: op, position, then the columns of `ddl`."""
        return self.spark.createDataFrame(rows, f"_cdc_op string, _cdc_position string not null, {ddl}")

    def frame(self, table: TableConfig) -> DataFrame:
        """Read the table with plain Spark, as a user does."""
        return self.spark.read.format("hudi").load(self.path(table))

    def rows(self, table: TableConfig, *columns: str) -> list[tuple[Any, ...]]:
        """Collect columns, in the order of the first."""
        return sorted(tuple(row) for row in self.frame(table).select(*columns).collect())


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """Give an empty lake."""
    return Lake(spark, tmp_path / "lake")


@pytest.fixture
def entry() -> Callable[[int], LedgerEntry]:
    """Give the maker of ledger entries."""
    return entry_of
