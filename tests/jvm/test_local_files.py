"""Local files are created without a process for each, and listed as Hadoop lists them."""

import stat
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
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


@pytest.mark.parametrize("link", ["missing", "link to itself"])
def test_a_folder_is_listed_as_hadoop_lists_it(spark: SparkSession, tmp_path: Path, link: str) -> None:
    """Files, folders, links, and names with a colon.  Links that lead nowhere and checksums are left out."""
    folder = tmp_path / "größe"
    folder.mkdir()
    for name in ("a b", "x:y", "ä", ".hidden"):
        (folder / name).write_text(name)
    (folder / "a b").chmod(0o640)
    (folder / "sub").mkdir()
    (folder / "link").symlink_to(folder / "sub")
    (folder / "link to itself").symlink_to(folder / link)
    (folder / ".a b.crc").write_text("checksum")
    path = jvm_of(spark).org.apache.hadoop.fs.Path(str(folder))
    found, all_files = facts(storage(spark).listStatus(path)), facts(storage(spark).getRaw().listStatus(path))

    assert found == [fact for fact in all_files if ".crc" not in fact[0]]
    assert [fact[0].rpartition("/")[2] for fact in found] == [".hidden", "a b", "link", "sub", "x:y", "ä"]


def test_the_root_is_listed_as_hadoop_lists_it(spark: SparkSession) -> None:
    """Its path ends with the separator that other folders lack."""
    root = jvm_of(spark).org.apache.hadoop.fs.Path("/")
    found, all_files = (list(files.listStatus(root)) for files in (storage(spark), storage(spark).getRaw()))

    assert {str(status.getPath()) for status in found} == {str(status.getPath()) for status in all_files}


def test_what_is_no_folder_is_listed_as_hadoop_lists_it(spark: SparkSession, tmp_path: Path) -> None:
    """A file is its own list, and a missing folder is refused."""
    file, fs = tmp_path / "file", jvm_of(spark).org.apache.hadoop.fs
    file.write_text("text")

    assert [fact[0] for fact in facts(storage(spark).listStatus(fs.Path(str(file))))] == [f"file:{file}"]
    with pytest.raises(Py4JJavaError, match="FileNotFoundException"):
        storage(spark).listStatus(fs.Path(str(tmp_path / "missing")))


def facts(listed: Any) -> list[tuple[Any, ...]]:
    """Return all that a list says of each file."""
    return sorted(
        (
            status.getPath().toString(),
            *(status.getLen(), status.isDirectory(), status.getModificationTime(), status.getAccessTime()),
            *(status.getBlockSize(), status.getReplication(), status.isSymlink()),
            *(status.getPermission().toString(), status.getOwner(), status.getGroup()),
        )
        for status in listed
    )
