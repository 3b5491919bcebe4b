"""A lake in a temporary folder, and short ways to commit to it and to read it with plain Spark."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import attrs
import pytest
from pyspark.sql import DataFrame, SparkSession

from ingest.hudi.options import TABLE_VERSION, Operation, hudi_options
from ingest.hudi.table import HudiTable
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.hudi.upkeep.maintain import keep_up
from ingest.hudi.upkeep.services import open_services
from ingest.names import Instant, Partition, Subject, Topic
from ingest.run.work.writer import Requirements
from ingest.spark.hadoop_settings import LOCAL, HadoopSettings
from ingest.tables import Subjects, TableConfig, Target

VERSION: Final = int(os.environ.get("INGEST_TABLE_VERSION", "9"))
"""Version of the tables that the tests write, unless they say otherwise: `make test-places` sets it."""


def timeline_of(path: Path | str) -> Path:
    """Return the folder of a table's active timeline: in version 6 the folder of its properties."""
    home = Path(path, ".hoodie")
    return home / "timeline" if (home / "timeline").is_dir() else home


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
            name=name, topic=topic, dialect="sqlserver", subjects=subjects,
            target=Target(**{"table_version": VERSION, **target}),
        )  # fmt: skip

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

    def call(self, table: TableConfig, procedure: str) -> None:
        """Call a procedure of Hudi's, with the settings of docs/offsets-and-deletes.md."""
        settings = {
            "hoodie.write.auto.upgrade": "false",
            TABLE_VERSION: str(table.target.table_version),
            "hoodie.metadata.enable": "false",
        }
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        try:
            self.spark.sql(f"call {procedure}").collect()
        finally:
            for key in settings:
                self.spark.conf.unset(key)

    def roll_back(self, table: TableConfig, instant: str) -> None:
        """Roll a commit back.  Hudi's procedure does not open tables of version 6 (1.2.0)."""
        options = hudi_options(table, ["id"], "upsert") | {"hoodie.rollback.using.markers": "false"}
        with open_services(self.spark, self.path(table), options) as services:
            assert services.client.rollback(instant)

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
