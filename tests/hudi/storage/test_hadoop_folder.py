"""The files of a folder by Hadoop's classes."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.hudi.storage.hadoop_files import HadoopFolder

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("count", [0, 1, 4, 5, 30])
def test_sizes_are_those_of_the_files_that_exist(spark: SparkSession, tmp_path: Path, count: int) -> None:
    """Few files of a folder are asked for one by one, many by listing it."""
    sizes = {f"{folder}{n} ü:%20{n}": n for folder in ("", "p=1 %2F/") for n in range(count)}
    for name, size in sizes.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    missing = [f"{folder}missing{n}" for folder in ("", "p=1 %2F/", "gone/") for n in range(count)]

    assert HadoopFolder(spark, str(tmp_path)).sizes([*missing, *sizes]) == sizes
