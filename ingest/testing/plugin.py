"""Fixtures for tests of tables that `ingest` makes: real servers, Spark with the right jars, a deployment.

pytest loads this module wherever `ingest` is installed: nothing heavy is imported before a fixture is used.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ingest.local.servers import Addresses
    from ingest.testing.deployment import Deployment


@pytest.fixture(scope="session")
def ingest_servers(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Addresses]":
    """Run a real broker and a real registry for the session; they stop with it, whatever happens."""
    from ingest.local.servers import down, up  # noqa: PLC0415  see above

    data = tmp_path_factory.mktemp("ingest-servers")
    try:
        yield up(data)
    finally:
        down(data)


@pytest.fixture(scope="session")
def ingest_spark_conf() -> Mapping[str, str]:
    """Give the Spark settings of `ingest_spark`; override it to have others."""
    return {}


@pytest.fixture(scope="session")
def ingest_spark(ingest_spark_conf: Mapping[str, str]) -> "Iterator[SparkSession]":
    """Start Spark with the jars and settings that Hudi needs, or take the session that there is."""
    from pyspark.sql import SparkSession  # noqa: PLC0415  see above

    from ingest.artifacts import spark_jars  # noqa: PLC0415  same
    from ingest.spark.session import start_session  # noqa: PLC0415  same

    is_ours = SparkSession.getActiveSession() is None
    spark = start_session("ingest-tests", "local[2]", ingest_spark_conf, spark_jars())
    yield spark
    if is_ours:
        spark.stop()


@pytest.fixture
def ingest_deployment(
    tmp_path: Path,
    ingest_servers: "Addresses",
    ingest_spark: "SparkSession",
    monkeypatch: pytest.MonkeyPatch,
) -> "Deployment":
    """Make a deployment in the test's folder; what the environment says of ingest does not reach it."""
    from ingest.testing.deployment import Deployment  # noqa: PLC0415  see above

    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    root = tmp_path / "ingest"
    root.mkdir()
    return Deployment(root, ingest_servers, ingest_spark)
