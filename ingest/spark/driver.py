"""The Spark session of a deployment: the caller's, the process's, or one started at its first use.

Importing this module loads neither pyspark nor Spark: most of a deployment's work needs neither.
"""

import sys
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import attrs

from ingest.jars import job_jars
from ingest.jars.artifacts import cache_folder
from ingest.settings import Settings
from ingest.spark import catalog, class_archive, java
from ingest.spark import functions as spark_functions
from ingest.spark import process as spark_process
from ingest.spark import session as spark_session
from ingest.spark import stages as spark_stages
from ingest.spark.hadoop_settings import UNKNOWN, HadoopSettings, hadoop_settings
from ingest.spark.jdk import find_java

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

MANY_MESSAGES: Final = 3_000_000
"""Beyond it a JVM gets its optimising compiler: 1,000,000 cost 41 CPU s without it and 50 with it."""
MANY_BYTES: Final = 64_000_000
"""The same of data files.  A run that rewrote 78 MB, 4,000,000 rows, for 20,000 changes cost 107
CPU s without the compiler and 69 with it, and one of 20 MB 46 and 45."""
UNKNOWN_BYTES: Final = MANY_BYTES + 1
"""Data files of a size that is not known before the start, which is taken for much work."""


@attrs.define(eq=False, slots=False)
class Driver:
    """Starts Spark at the first use of its session, and stops only a Spark that it started."""

    settings: Settings
    given: "SparkSession | None" = None
    """A session that the caller owns."""
    is_short: bool = True
    """Whether a JVM that is started here ends soon."""
    was_started: bool = attrs.field(default=False, init=False)
    """Whether the session was started here."""

    @property
    def is_open(self) -> bool:
        """Whether there is a session already."""
        return "_session" in self.__dict__

    @property
    def is_available(self) -> bool:
        """Whether there is a session without a start: also the caller's, or one of this process."""
        if self.given is not None or self.is_open:
            return True
        return "pyspark" in sys.modules and spark_session.active_session() is not None

    @cached_property
    def session(self) -> "SparkSession":
        """The session, in UTC."""
        if self.settings.lake.database:
            catalog.check_catalog(self._session)
        return self._session

    def start(self, messages: int, file_bytes: int) -> "SparkSession":
        """Return the session.  A JVM that is started for much work gets its optimising compiler.

        `file_bytes` are of the data files that it reads or rewrites.
        """
        self.is_short &= messages / MANY_MESSAGES + file_bytes / MANY_BYTES <= 1
        return self.session

    @property
    def process(self) -> "spark_process.SparkProcess":
        """The JVM of the session.  A JVM that was started here can be replaced."""
        return spark_process.SparkProcess(self._session, self._start_again if self.was_started else None)

    def stages(self) -> "Mapping[str, tuple[spark_stages.Stage, ...]]":
        """Return the stages at work by table.  Empty without a session."""
        spark = self.__dict__.get("_session")
        return {} if spark is None else spark_stages.read_stages(spark)

    def hadoop_settings(self) -> HadoopSettings:
        """Return Hadoop's settings.

        Of a session that has started only the default file system is certain.
        """
        if not self.is_available:
            return hadoop_settings(self.settings.spark.conf)
        try:
            return HadoopSettings(str(java.hadoop_of(self.session).get("fs.defaultFS")))
        except Exception:  # noqa: BLE001  a JVM that has ended: the tables report it
            return UNKNOWN

    def close(self) -> None:
        """Stop the session if it was started here."""
        if self.was_started:
            spark_process.stop_session(self._session)

    def leave_class_archive(self) -> None:
        """Let the JVM write its archive when it ends, if it was started here and the archive is missing."""
        if self.was_started and self._class_archive is not None:
            self._class_archive.write_at_exit(self._session)

    def _start_again(self) -> "SparkSession":
        for name in ("session", "_session"):
            self.__dict__.pop(name, None)
        return self.session

    @cached_property
    def _session(self) -> "SparkSession":
        spark = self._open_session()
        spark.conf.set(java.INTERNALS, str(self.settings.spark.internals).lower())
        salt = self.settings.masking.salt
        if salt is not None:
            spark_functions.keep_salt(spark, salt.reveal())
        return spark

    def _open_session(self) -> "SparkSession":
        if self.given is not None:
            return spark_session.session_of(self.given)
        spark = self.settings.spark
        self.was_started = spark_session.active_session() is None
        conf = {
            **(spark_session.LASTING_CATALOG if self.settings.lake.database else {}),
            **spark.conf,
            java.INTERNALS: str(spark.internals).lower(),
        }
        archive = self._class_archive if self.was_started else None
        return spark_session.start_session(
            "ingest", spark.master, conf, self._jars, archive, is_short=self.is_short
        )

    @cached_property
    def _jars(self) -> tuple[Path, ...]:
        """The jars of a JVM that is started here.  Under spark-submit they are the submitter's."""
        if spark_session.submitted():
            return ()
        return job_jars.job_jars(self.settings.spark)

    @cached_property
    def _class_archive(self) -> "class_archive.ClassArchive | None":
        spark = self.settings.spark
        if not (spark.class_archive and spark.internals) or spark_session.submitted():
            return None
        java = find_java()
        return class_archive.class_archive(java, spark.master, spark.conf, self._jars, cache_folder())
