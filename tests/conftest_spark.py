"""One Spark session for the whole suite, whose zones are other than UTC in every layer that has one."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.run.spark import launch_conf, session_of

JARS = Path(__file__).parents[1] / "jars" / "lib"
PROCESS_ZONE = "Asia/Shanghai"
OUTER_ZONE = "America/St_Johns"


@pytest.fixture(scope="session")
def outer_spark() -> Iterator[SparkSession]:
    """Start the session of a caller who is not us: half-hour zone, in a process of yet another zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", PROCESS_ZONE)  # before the JVM starts: it takes its default zone from here
        time.tzset()
        conf = launch_conf("local[2]", {}, sorted(JARS.glob("*.jar")))
        conf["spark.sql.session.timeZone"] = OUTER_ZONE
        builder = SparkSession.builder.appName(f"tests-{os.getpid()}")
        for key, value in conf.items():
            builder = builder.config(key, value)
        spark = builder.getOrCreate()
        yield spark
        spark.stop()
    time.tzset()


@pytest.fixture(scope="session")
def spark(outer_spark: SparkSession) -> SparkSession:
    """Give the session that the product works in, beside the caller's."""
    return session_of(outer_spark)
