"""Shared by the whole suite: the plugin's pair of real servers, and one Spark session a worker of xdist.

The session's zone is other than UTC in every layer that has one: process, JVM and caller's session.
"""

import logging
import os
import time
from collections.abc import Iterator

import pytest
from hypothesis import settings
from pyspark import RDD
from pyspark.serializers import BatchedSerializer, CPickleSerializer
from pyspark.sql import SparkSession

from ingest.jars.artifacts import spark_jars
from ingest.local.servers import Addresses
from ingest.spark.java import start_context
from ingest.spark.session import class_path, launch_conf, prepare_context, session_of
from tests.e2e.deployment import Deployments

settings.register_profile("suite", deadline=None)  # a busy machine is slow, not wrong
settings.load_profile("suite")

ASKED_FOR = ("live", "pairs", "places", "release", "browser")
"""Markers of tests that run only when -m speaks of them."""
PROCESS_ZONE = "Asia/Shanghai"
JVM_ZONE = PROCESS_ZONE
if os.environ.get("INGEST_TABLE_VERSION") == "6":
    JVM_ZONE = "UTC"  # such tables are written in UTC only
    os.environ["INGEST_ONBOARD_READERS"] = "daft"
OUTER_ZONE = "America/St_Johns"


_PICKLED = RDD._pickled  # noqa: SLF001  pyspark has no public way to change it


def _pickled(rdd: "RDD[object]") -> "RDD[object]":
    """Take rows that the driver has pickled as they are.

    `createDataFrame` sends them through a Python process for each partition, only to have batches of another
    size: a twentieth of the suite's CPU.
    """
    serializer = rdd._jrdd_deserializer  # type: ignore[attr-defined]  # noqa: SLF001  same
    is_pickled = isinstance(serializer, BatchedSerializer) and isinstance(
        serializer.serializer, CPickleSerializer
    )
    return rdd if type(rdd) is RDD and is_pickled else _PICKLED(rdd)


RDD._pickled = _pickled  # type: ignore[method-assign]  # noqa: SLF001  same


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave tests out that -m does not speak of, other markers or none; put files without a JVM last.

    The last files of parallel workers are then short: no worker waits for another one's minutes.
    """
    left_out = [marker for marker in ASKED_FOR if marker not in config.option.markexpr]
    unasked = {item for item in items if any(map(item.get_closest_marker, left_out))}
    if unasked:
        config.hook.pytest_deselected(items=[*unasked])
        items[:] = [item for item in items if item not in unasked]
    slow = {item.path for item in items if any(map(item.get_closest_marker, ("spark", "servers")))}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(scope="session")
def servers(ingest_servers: Addresses) -> Addresses:
    """Name the plugin's servers as the suite does."""
    return ingest_servers


@pytest.fixture(scope="session")
def ingest_spark() -> Iterator[SparkSession]:
    """Start, in place of the plugin's, the session of a caller who is not us.

    Half-hour zone, in a process of yet another zone.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", PROCESS_ZONE)  # before the JVM starts: it takes its default zone from here
        time.tzset()
        # In twenty minutes G1 would look through the whole heap hundreds of times: a tenth of the time.
        # Each test brings generated code of its own: the second compiler costs a seventh of the time.
        # For one compiler HotSpot keeps 48 MB of code: sweeping it took a tenth of this JVM's CPU time.
        compiler = "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
        # A heap that starts small was collected whole ten times in twenty minutes, each time for 0.7 s.
        collector = "-XX:+UseParallelGC -XX:MetaspaceSize=512m -Xms3g -Xmn1536m"
        options = f"{compiler} {collector} -Duser.timezone={JVM_ZONE}"
        conf = launch_conf(
            "local[2]", {"spark.driver.extraJavaOptions": options, "spark.driver.memory": "3g"}, spark_jars()
        )
        conf |= {"spark.sql.session.timeZone": OUTER_ZONE, "spark.app.name": f"tests-{os.getpid()}"}
        with class_path(spark_jars()):
            start_context(conf)
            spark = SparkSession.builder.getOrCreate()
        prepare_context(spark)
        yield spark
        spark.stop()
    time.tzset()


@pytest.fixture(scope="session")
def outer_spark(ingest_spark: SparkSession) -> SparkSession:
    """Name it as the suite does."""
    return ingest_spark


@pytest.fixture(scope="session")
def spark(outer_spark: SparkSession) -> SparkSession:
    """Give the session that the product works in, next to the caller's."""
    return session_of(outer_spark)


@pytest.fixture(scope="session")
def deployments(servers: Addresses, outer_spark: SparkSession) -> Deployments:
    """Make deployments, at the scope that a test needs."""
    return Deployments(servers, outer_spark)


@pytest.fixture(autouse=True)
def _log_levels() -> Iterator[None]:
    """Undo what a command of the test has set: a level kept would silence the warnings of the next test."""
    yield
    logging.getLogger("ingest").setLevel(logging.NOTSET)
