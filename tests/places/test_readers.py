"""Who reads the tables: each reader, type of table and type of column, as docs/readers.md says."""

from importlib.metadata import version
from pathlib import Path

import attrs
import pytest
from pyspark.sql import SparkSession

from tests.hudi.conftest import VERSION, Lake
from tests.places.matrix import BUNDLES, PROGRAMS, read_by_programs, read_by_spark
from tests.places.record import record
from tests.places.s3 import S3

pytestmark = [pytest.mark.places, pytest.mark.spark]


def test_each_reader_reads_the_columns_that_the_page_says(
    spark: SparkSession, s3: S3, tmp_path: Path
) -> None:
    """Spark's four queries and the other programs, over each type of column in each type of table."""
    assert PROGRAMS.exists(), "build/readers is missing: run `make test-places`"
    assert BUNDLES, "jars/readers is missing: run `make test-places`"
    lake = Lake(spark, tmp_path / "lake")
    versions, cells = read_by_programs(lake, s3)
    cells += read_by_spark(lake)
    versions |= {"pyspark": version("pyspark")}
    assert record(f"readers_{VERSION}", [attrs.asdict(cell) for cell in sorted(cells)], versions) == []
