"""Local files are created without a process for each, with the permissions that Hadoop asks for."""

import stat
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ingest.spark.java import hadoop_of, jvm_of

pytestmark = pytest.mark.spark


def storage(spark: SparkSession) -> Any:
    """Return the session's local file system."""
    return jvm_of(spark).org.apache.hadoop.fs.FileSystem.getLocal(hadoop_of(spark))


@pytest.mark.parametrize("mode", [0o644, 0o600, 0o777, 0o1777])
@pytest.mark.parametrize("name", ["file", "a b", "größe", "'$(x)'"])
def test_a_file_gets_the_permissions_asked_for(
    spark: SparkSession, tmp_path: Path, name: str, mode: int
) -> None:
    """The sticky bit too, which Java's own files lack, and whatever the name is."""
    fs = jvm_of(spark).org.apache.hadoop.fs
    path = fs.Path(str(tmp_path), name)
    storage(spark).create(path).close()
    storage(spark).setPermission(path, fs.permission.FsPermission(f"{mode:o}"))

    assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode


def test_hadoop_uses_it(spark: SparkSession, tmp_path: Path) -> None:
    """A session that is started here, for paths with the scheme and without."""
    for path in (str(tmp_path), tmp_path.as_uri()):
        files = jvm_of(spark).org.apache.hadoop.fs.Path(path).getFileSystem(hadoop_of(spark))
        assert files.getClass().getSimpleName() == "LocalFiles"
