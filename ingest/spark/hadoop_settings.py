"""Hadoop's settings, as a JVM that is not started yet will have them."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import attrs

LOCAL_FS: Final = "file:///"
"""Hadoop's `fs.defaultFS` if no setting replaces it."""
_PREFIX: Final = "spark.hadoop."
_DEFAULT_FS: Final = ("fs.default", "fs.file.")
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


@attrs.frozen
class HadoopSettings:
    """The settings that decide how a path is read.

    `default_fs` is the file system of paths without a scheme, empty if unknown.  `values` are all settings
    that differ from Hadoop's defaults, None if a file or a running JVM may have more.
    """

    default_fs: str
    values: Mapping[str, str] | None = attrs.field(default=None, repr=False)


LOCAL: Final = HadoopSettings(LOCAL_FS)
"""A local disk.  Other storage is unknown."""
UNKNOWN: Final = HadoopSettings("")


def hadoop_settings(spark_conf: Mapping[str, str]) -> HadoopSettings:
    """Return Hadoop's settings, or `UNKNOWN` if a file of Hadoop or Spark may say more.

    `spark_conf` are the settings of a Spark session that is not started yet.
    """
    folders = [Path(os.environ[name], below) for name, below in _CONF_FOLDERS.items() if os.environ.get(name)]
    if _SUBMITTED in os.environ or any(
        (folder / name).exists() for folder in folders for name in _CONF_FILES
    ):
        return UNKNOWN
    values = {
        key.removeprefix(_PREFIX): value for key, value in spark_conf.items() if key.startswith(_PREFIX)
    }
    default_fs = "" if any(key.startswith(_DEFAULT_FS) for key in values) else LOCAL_FS
    return HadoopSettings(default_fs, values)
