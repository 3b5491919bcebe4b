"""What the whole suite shares: one pair of real servers, and one Spark session.

The session's zone is other than UTC in every layer that has one: process, JVM and caller's session.
"""

import os
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from ingest.artifacts import spark_jars
from ingest.local.servers import Addresses, down, up
from ingest.run.spark import launch_conf, session_of

PROCESS_ZONE = "Asia/Shanghai"
OUTER_ZONE = "America/St_Johns"


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Run a real broker and a real registry for the session; they stop with it, whatever happens."""
    data = tmp_path_factory.mktemp("servers")
    try:
        yield up(data)
    finally:
        down(data)


@pytest.fixture(scope="session")
def outer_spark() -> Iterator[SparkSession]:
    """Start the session of a caller who is not us: half-hour zone, in a process of yet another zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", PROCESS_ZONE)  # before the JVM starts: it takes its default zone from here
        time.tzset()
        conf = launch_conf("local[2]", {}, spark_jars())
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
