"""An open deployment: its settings, registry, table files and Spark, which starts on first use."""

import uuid
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self

from ingest.errors import IngestError, JvmEndedError, TableFileError
from ingest.hudi import lake_files
from ingest.registry import Registry, open_registry
from ingest.run.work import context
from ingest.settings import Settings, load
from ingest.spark.driver import Driver
from ingest.stop import Stop
from ingest.tables import Feed, TableConfig, feeds, read_all, read_one, read_valid

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ingest.run.work.context import Progress
    from ingest.spark.stages import Stage


class Deployment:
    """Settings, with the parts that they name opened on first use.

    A context manager.  Leaving it stops the Spark session if the deployment started it.
    """

    def __init__(self, settings: Settings, spark: "SparkSession | None" = None) -> None:
        self.settings = settings
        self._driver = Driver(settings, spark)

    @classmethod
    def open(
        cls,
        path: "Path | str | None" = None,
        *,
        tables: "Path | str | None" = None,
        overrides: Mapping[str, object] | None = None,
        spark: "SparkSession | None" = None,
    ) -> Self:
        """Read the settings (see `ingest.settings.load`). The caller owns the session `spark`."""
        return cls(
            load(
                None if path is None else Path(path),
                tables=None if tables is None else Path(tables),
                overrides=overrides,
            ),
            spark,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        """Close.  Raises `JvmEndedError` if a call failed because the JVM has ended."""
        ended = isinstance(error, Exception) and self._driver.is_open and not self._driver.process.is_alive()
        cause = self._driver.process.cause() if ended else ""
        self.close()
        if ended and not isinstance(error, IngestError):
            raise JvmEndedError("", cause=cause) from error

    def close(self) -> None:
        """Close everything that this session opened."""
        if "registry" in self.__dict__:
            self.registry.close()
        self._driver.close()

    @cached_property
    def registry(self) -> Registry:
        """The registry, live or a folder."""
        return open_registry(self.settings.registry)

    @property
    def spark(self) -> "SparkSession":
        """The deployment's Spark session, in UTC. Spark starts on first use."""
        return self._driver.session

    def spark_stages(self) -> "Mapping[str, tuple[Stage, ...]]":
        """Return the active Spark stages by table, from any thread. Empty before Spark has started."""
        return self._driver.stages()

    def tables(self, names: Sequence[str] = ()) -> tuple[TableConfig, ...]:
        """Read the files of all tables, or of the named tables. A name may be a glob."""
        return read_all(self.settings.tables_dir, names)

    def table(self, name: str) -> TableConfig:
        """Read the file of one table."""
        return read_one(self.settings.tables_dir, name)

    def valid_tables(
        self, names: Sequence[str] = ()
    ) -> tuple[tuple[TableConfig, ...], tuple[TableFileError, ...]]:
        """Read the table files as `tables` does, and return the tables and the errors of broken files."""
        return read_valid(self.settings.tables_dir, names)

    def find_table(self, name: str) -> TableConfig | None:
        """Return the table of that name, if there is one."""
        if not self.settings.tables_dir.is_dir():
            return None
        return next((table for table in self.valid_tables()[0] if table.name == name), None)

    def _feed(self, table: TableConfig) -> Feed:
        """Return the feed of a table by its first topic."""
        return feeds(table, self.settings.masking.of_tables())[0]

    def _run(
        self, progress: "Progress", max_offsets: int | None = None, stop: Stop | None = None
    ) -> "context.Run":
        """Begin a command with a new id.  It raises a signal again unless the caller passes a `stop`."""
        files = lake_files.LakeFiles(self.settings.lake, self._driver.hadoop_settings())
        return context.Run(
            str(uuid.uuid4()), self.settings, files, self._driver, lambda: self.registry,
            max_offsets, progress, stop or Stop(), raises_signal=stop is None,
        )  # fmt: skip
