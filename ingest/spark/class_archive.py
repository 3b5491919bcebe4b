"""A class-data archive: the classes of one run, loaded, verified and linked for the JVMs of later runs.

More than half of a small run's CPU time is the JVM reading and verifying some 25,000 classes.  HotSpot writes
an archive of them when the first run that commits has ended, and maps it in later runs.  It compares Java,
class path, and size and time of each jar with the archive's, and ignores an archive that does not fit.
"""

import hashlib
import os
import stat
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import attrs
from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from ingest.jars.job_jars import spark_home
from ingest.log import logger
from ingest.spark.java import jvm_of
from ingest.spark.jdk import Java

OLDEST: Final = 17
"""The first Java that can write the archive of a running JVM (-XX:+RecordDynamicDumpInfo)."""
RETRY_S: Final = 24 * 3600
"""After a failure, the next attempt waits a day."""
VERIFIED: Final = "-XX:+VerifySharedSpaces"
"""Compares checksums.  Without it, HotSpot runs a damaged archive."""
END: Final = b"ingest class archive\n"
"""The last bytes of a whole archive: HotSpot crashes when it maps one that was cut off."""
QUIET: Final = "-Xlog:disable -Xlog:all=error:stderr"
"""HotSpot writes its warnings to stdout, and a command may print JSON there."""
KEPT_S: Final = 30 * 24 * 3600
"""Archives of other Javas and jars are deleted after a month."""
_OFF: Final = ("Archive", "FlightRecord", "-javaagent", "-agentlib", "-agentpath")
"""Java options that leave no room for an archive.  The user may have another archive.  With flight recordings
HotSpot crashes (KlassFactory::check_shared_class_file_load_hook, OpenJDK 17.0.15), and agents use the same
hook."""
_FOLDER: Final = "class-data"


@attrs.frozen
class ClassArchive:
    """The archive for one Java and one class path."""

    path: Path

    @property
    def failure(self) -> Path:
        """The file with the reason of the last failure."""
        return self.path.with_suffix(".failed")

    def exists(self) -> bool:
        """Whether a JVM may map it: a JVM runs the code in it, so only its user may be able to write it."""
        try:
            return all(map(_is_own, (self.path.parent, self.path))) and _is_whole(self.path)
        except OSError:
            return False

    def options(self) -> str:
        """Return the Java options that map the archive, or that let the JVM write it."""
        if self.exists():
            return f"-XX:SharedArchiveFile={self.path} {VERIFIED} {QUIET}"
        return f"-XX:+RecordDynamicDumpInfo {QUIET}" if self._may_write() else ""

    def write_at_exit(self, spark: SparkSession) -> None:
        """Let the JVM of a session write the archive when it ends, if it is missing.

        Never raises for files or a JVM that has ended: the tables are committed already.
        """
        if self.exists() or not self._may_write():
            return
        try:
            self._prune()
            jvm_of(spark).io.hudicdc.ingest.spark.ClassArchive.writeAtExit(str(self.path), str(self.failure))
        except (OSError, Py4JError) as error:
            logger(__name__).debug("class-archive.not-written", problem=str(error))

    def _prune(self) -> None:
        oldest = time.time() - KEPT_S
        for file in self.path.parent.iterdir():
            if file.stat().st_mtime < oldest:
                file.unlink(missing_ok=True)

    def _may_write(self) -> bool:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            if not _is_own(self.path.parent) or (self.path.exists() and not _is_own(self.path)):
                return False
            return not (self.failure.exists() and time.time() - self.failure.stat().st_mtime < RETRY_S)
        except OSError as error:
            logger(__name__).debug("class-archive.off", problem=str(error))
            return False


def class_archive(
    java: Java, master: str, conf: Mapping[str, str], jars: Sequence[Path], cache: Path
) -> ClassArchive | None:
    """Return the archive for a driver, or None if HotSpot could not map one.

    HotSpot ends at its start if it is to record classes and the class path has a folder that is not empty:
    Spark's launcher adds the folders of Spark's, Hadoop's and YARN's settings.
    """
    folders = [os.environ.get("SPARK_CONF_DIR") or str(Path(spark_home(), "conf"))]
    folders += filter(None, map(os.environ.get, ("HADOOP_CONF_DIR", "YARN_CONF_DIR")))
    extended = conf.get("spark.driver.extraClassPath") or os.environ.get("SPARK_DIST_CLASSPATH")
    options = " ".join(
        (conf.get("spark.driver.extraJavaOptions", ""), os.environ.get("JDK_JAVA_OPTIONS", ""))
    )
    is_off = any(option in options for option in _OFF)
    if java.version < OLDEST or extended or is_off or any(map(_has_files, folders)):
        return None
    kind_of_master = master.partition("[")[0].partition(":")[0]
    return ClassArchive(cache / _FOLDER / f"{_key(java, jars)}-{kind_of_master}.jsa")


def _key(java: Java, jars: Sequence[Path]) -> str:
    """Return a name that changes with the Java, with Spark and with each jar."""
    home = Path(java.program).resolve()
    files = (home, home.parent.parent / "release", Path(spark_home(), "jars"), *jars)
    parts = [f"{file.resolve()} {_stamp(file)}" for file in files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _stamp(file: Path) -> str:
    try:
        state = file.stat()
    except OSError:
        return ""
    return f"{state.st_size} {state.st_mtime_ns}"


def _has_files(folder: str) -> bool:
    path = Path(folder)
    return path.is_dir() and any(path.iterdir())


def _is_own(path: Path) -> bool:
    state = path.stat()
    return state.st_uid == os.geteuid() and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-len(END), os.SEEK_END)
        return file.read() == END
