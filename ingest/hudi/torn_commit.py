"""Timeline files that a failed write left torn, taken away: one that nothing can read stops the whole table.

Hudi writes such a file under another name and gives it its own in a `finally` (HoodieStorage's
createImmutableFileInPath).  On a local disk without room the stream fails with an Error of Hadoop's, and is
closed by then: half a file becomes a completed commit, which no reader and no later run gets past.
"""

import re
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from ingest.java import jvm_of
from ingest.log import logger

_INSTANT: Final = re.compile(r"\d{17}(_\d{17})?\.[a-z.]+")
"""An action's file, completed where it has two times; not one that has yet to get its name."""


def timeline_files(path: str) -> frozenset[Path]:
    """Return the files of a table's actions; none where there is no table, or no local disk."""
    place = urlsplit(path)
    if place.scheme not in ("", "file"):
        return frozenset()
    timeline = Path(unquote(place.path) if place.scheme else path) / ".hoodie" / "timeline"
    if not timeline.is_dir():
        return frozenset()
    return frozenset(one for one in timeline.iterdir() if _INSTANT.fullmatch(one.name))


def remove_corrupt_instants(spark: SparkSession, path: str, before: frozenset[Path]) -> None:
    """Take away what came after `before` and cannot be read: its action is unfinished then, and rolled back.

    For the table's only writer, whose write has failed.
    """
    for file in sorted(timeline_files(path) - before):
        if _is_torn(spark, file):
            logger(__name__).warning("half a file of the timeline was taken away", file=str(file))
            file.unlink()
            file.with_name(f".{file.name}.crc").unlink(missing_ok=True)


def _is_torn(spark: SparkSession, file: Path) -> bool:
    """Tell whether a file lacks its one Avro record; only unfinished actions may be empty."""
    if not file.stat().st_size:
        return "_" in file.name
    jvm = jvm_of(spark)
    try:
        place, read = jvm.java.io.File(str(file)), jvm.org.apache.avro.generic.GenericDatumReader()
        records = jvm.org.apache.avro.file.DataFileReader(place, read)
        try:
            return not records.hasNext()  # false, too, for a block that ends early
        finally:
            records.close()
    except Py4JJavaError:
        return True
