"""The tables of one lake, each opened once."""

import attrs
from pyspark.sql import SparkSession

from ingest.hudi.table import HudiTable
from ingest.settings import LakeSettings
from ingest.tables import TableConfig


@attrs.define(eq=False)
class Lake:
    """Opens tables and keeps them open: for one run or one command."""

    spark: SparkSession
    settings: LakeSettings
    _tables: dict[str, HudiTable] = attrs.field(factory=dict, init=False)

    def table(self, table: TableConfig) -> HudiTable:
        """Return the Hudi table of a table file."""
        return self._at(self.settings.table_path(table.name))

    def rejects(self, table: TableConfig) -> HudiTable:
        """Return the table of its rejects."""
        return self._at(self.settings.rejects_path(table.name))

    def _at(self, path: str) -> HudiTable:
        return self._tables.setdefault(path, HudiTable(self.spark, path))
