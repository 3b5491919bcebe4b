"""Files of a lake on a local disk, read as Hadoop reads them: against the checksums next to them."""

import os
import re
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

LOCAL: Final = "file:///"
"""Hadoop's `fs.defaultFS` where nothing sets another."""
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_FILE_URL: Final = re.compile(r"file:(//)?/(?!/).*")
_HADOOP_FS: Final = ("spark.hadoop.fs.default", "spark.hadoop.fs.file.")
_CONF_FOLDERS: Final[Mapping[str, str]] = {
    "HADOOP_CONF_DIR": "",
    "YARN_CONF_DIR": "",
    "SPARK_CONF_DIR": "",
    "SPARK_HOME": "conf",
}
"""Environment variables that put a folder on the JVM's class path, and the folder below."""
_CONF_FILES: Final = ("core-site.xml", "spark-defaults.conf")
_SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set by spark-submit, whose settings this process does not see."""
_CHECKSUMS: Final = struct.Struct(">4sI")
"""The head of a checksum file: magic bytes, and the bytes per checksum (ChecksumFileSystem)."""
_MAGIC: Final = b"crc\0"


class UnclearFilesError(Exception):
    """The files alone do not answer: ask Hudi, which also knows the error if there is one."""


def default_fs(spark_conf: Mapping[str, str]) -> str:
    """Return Hadoop's file system of paths without a scheme; empty where a file of Hadoop or Spark may say.

    `spark_conf` are the settings of a Spark session that is not started yet.
    """
    if _SUBMITTED in os.environ or any(key.startswith(_HADOOP_FS) for key in spark_conf):
        return ""
    folders = [Path(os.environ[name], below) for name, below in _CONF_FOLDERS.items() if os.environ.get(name)]
    files = (folder / name for folder in folders for name in _CONF_FILES)
    return "" if any(file.exists() for file in files) else LOCAL


def local_folder(path: str, default_fs: str) -> Path:
    """Return the local folder of a Hadoop path.  Raises UnclearFilesError for other storage."""
    scheme = _SCHEME.match(path)
    if scheme is None and default_fs == LOCAL and path.startswith("/"):
        return Path(path)
    if _FILE_URL.fullmatch(path) and "%" not in path:
        return Path(path.removeprefix("file:").removeprefix("//"))
    raise UnclearFilesError(f"{path} is not on a local disk")


def read_checked(file: Path) -> bytes:
    """Read a file, and compare it with its checksums if it has some."""
    content = file.read_bytes()
    try:
        checksums = file.with_name(f".{file.name}.crc").read_bytes()
    except FileNotFoundError:
        return content
    if checksums != _MAGIC + b"".join(_expected(content, checksums)):
        raise UnclearFilesError(f"{file}: the checksum is wrong")
    return content


def _expected(content: bytes, checksums: bytes) -> Iterator[bytes]:
    """Yield a checksum file's content behind its magic bytes, as it should be."""
    if len(checksums) < _CHECKSUMS.size:
        return
    _, size = _CHECKSUMS.unpack_from(checksums)
    yield struct.pack(">I", size)
    for start in range(0, len(content) if size else 0, size or 1):
        yield struct.pack(">I", zlib.crc32(content[start : start + size]))
