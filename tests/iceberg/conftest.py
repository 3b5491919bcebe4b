"""An Iceberg catalog next to a lake, and the rows of both tables."""

from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from ingest.hudi.lake_files import LakeFiles
from ingest.iceberg.tables import IcebergTables
from ingest.settings import IcebergSettings, LakeSettings
from ingest.tables import TableConfig
from ingest.testing.comparison import read_rows
from tests.hudi.conftest import Lake
from tests.places.cells import text


def iceberg_settings(folder: Path) -> IcebergSettings:
    """Name a catalog in SQLite, with its metadata in a folder."""
    folder.mkdir(exist_ok=True)
    properties = {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    return IcebergSettings("lake", "bronze", properties)


def by_key(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return records in the order of their keys, as values of any reader."""
    plain = [{name: text(value) for name, value in record.items()} for record in records]
    return sorted(plain, key=lambda record: str(record["_hoodie_record_key"]))


@attrs.frozen
class BothFaces:
    """A lake whose tables are Iceberg tables too."""

    lake: Lake
    iceberg: IcebergTables

    def hudi_rows(self, table: TableConfig) -> list[dict[str, Any]]:
        """Read the Hudi table by Spark."""
        frame = self.lake.frame(table)
        return by_key([dict(row) for row in read_rows(frame, frame.columns)])

    def iceberg_rows(self, table: TableConfig) -> list[dict[str, Any]]:
        """Read the Iceberg table by pyiceberg."""
        present = self.iceberg.load(table)
        assert present is not None
        return by_key(present.scan().to_arrow().to_pylist())

    def check(self, table: TableConfig, *, updated: bool = False) -> None:
        """Compare both tables, after an update if asked: their rows, and what `ingest check` says."""
        if updated:
            self.iceberg.update(table)
        assert self.iceberg_rows(table) == self.hudi_rows(table)
        assert self.iceberg.differences(table) == ()


@pytest.fixture
def faces(spark: SparkSession, tmp_path: Path) -> BothFaces:
    """Give an empty lake with an empty catalog."""
    return make_faces(spark, tmp_path)


def make_faces(spark: SparkSession, tmp_path: Path) -> BothFaces:
    """Make an empty lake with an empty catalog."""
    lake = Lake(spark, tmp_path / "lake")
    files = LakeFiles(LakeSettings(path=str(tmp_path / "lake")), lake.hadoop)
    return BothFaces(lake, IcebergTables(iceberg_settings(tmp_path / "iceberg"), files, lambda: spark))
