"""Truncated timeline files of a failed write, removed: a single unreadable one stops the whole table.

Hudi writes such a file under another name and gives it its own in a `finally` (HoodieStorage's
createImmutableFileInPath, Hudi 1.2.0).  On a full local disk the stream fails with an Error of Hadoop's, and
is closed already: half a file becomes a completed commit, at which readers and later runs fail.  Fixed after
1.2.0 (apache/hudi#19659).
"""

import json
import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.log import logger
from ingest.spark.java import jvm_of

_INSTANT: Final = re.compile(r"\d{17}(_\d{17})?\.[a-z.]+")
"""The name of an action's file.  A completed one has two times.  Temporary names do not match."""


def timeline_files(path: str) -> frozenset[Path]:
    """Return the files of a table's actions, empty without a table, or without a local disk."""
    url = urlsplit(path)
    if url.scheme not in ("", "file"):
        return frozenset()
    home = Path(unquote(url.path) if url.scheme else path) / ".hoodie"
    folders = (folder for folder in (home, home / "timeline") if folder.is_dir())
    return frozenset(file for folder in folders for file in folder.iterdir() if _INSTANT.fullmatch(file.name))


def remove_corrupt_instants(spark: SparkSession, path: str, before: frozenset[Path]) -> None:
    """Remove the unreadable files that came after `before`: Hudi then rolls their unfinished actions back.

    Call only as the table's writer, after a failed write.
    """
    for file in sorted(timeline_files(path) - before):
        if _is_torn(spark, file):
            logger(__name__).warning("removed a truncated timeline file", file=str(file))
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _is_torn(spark: SparkSession, file: Path) -> bool:
    """Tell whether a file lacks its content.  Only files of unfinished actions may be empty."""
    if not file.stat().st_size:
        return not file.name.endswith((".requested", ".inflight"))
    if file.read_bytes()[:1] == b"{":  # a commit in a table of version 6
        return not _is_json(file)
    jvm = jvm_of(spark)
    try:
        reader = jvm.org.apache.avro.generic.GenericDatumReader()
        records = jvm.org.apache.avro.file.DataFileReader(jvm.java.io.File(str(file)), reader)
        try:
            return not records.hasNext()  # false, too, for a block that ends early
        finally:
            records.close()
    except Py4JJavaError:
        return True


def _is_json(file: Path) -> bool:
    try:
        json.loads(file.read_bytes())
    except ValueError:
        return False
    return True
