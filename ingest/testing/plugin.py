"""Fixtures for tests of tables that `ingest` makes: real servers, Spark with the right jars, a deployment.

pytest loads this module wherever `ingest` is installed: nothing heavy is imported before a fixture is used.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ingest import testing
from ingest.jars import artifacts
from ingest.local import servers
from ingest.spark import session as spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ingest.local.servers import Addresses
    from ingest.testing import Deployment


@pytest.fixture(scope="session")
def ingest_servers(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Addresses]":
    """Run a real broker and a real registry for the session, and always stop them at its end."""
    data = tmp_path_factory.mktemp("ingest-servers")
    try:
        yield servers.up(data)
    finally:
        servers.down(data)


@pytest.fixture(scope="session")
def ingest_spark_conf() -> Mapping[str, str]:
    """Return the Spark settings of `ingest_spark`.  Override it to change them."""
    return {}


@pytest.fixture(scope="session")
def ingest_spark(ingest_spark_conf: Mapping[str, str]) -> "Iterator[SparkSession]":
    """Start Spark with the jars and settings that Hudi needs, or use the active session."""
    is_ours = spark_session.active_session() is None
    spark = spark_session.start_session("ingest-tests", "local[2]", ingest_spark_conf, artifacts.spark_jars())
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
    """Make a deployment in the test's folder, isolated from `INGEST_` environment variables."""
    for name in [name for name in os.environ if name.startswith("INGEST_")]:
        monkeypatch.delenv(name)
    root = tmp_path / "ingest"
    root.mkdir()
    return testing.Deployment(root, ingest_servers, ingest_spark)
