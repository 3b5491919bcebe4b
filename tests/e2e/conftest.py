"""Deployments for the end-to-end tests."""

from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from tests.e2e.deployment import Deployment
from tests.e2e.recordings import SQLSERVER, Recording

_NUMBERS = count(1)


@pytest.fixture
def make_deployment(
    tmp_path: Path, servers: Addresses, outer_spark: SparkSession
) -> Callable[..., Deployment]:
    """Return a function that creates a deployment with its own topics, by default SQL Server's."""

    def make(recording: Recording = SQLSERVER) -> Deployment:
        return Deployment(tmp_path, servers, outer_spark, f"e{next(_NUMBERS)}", recording)

    return make


@pytest.fixture
def deployment(make_deployment: Callable[..., Deployment]) -> Deployment:
    """Create the deployment of a test that needs one, over SQL Server's recording."""
    return make_deployment()


@pytest.fixture(scope="module")
def shared_deployment(
    tmp_path_factory: pytest.TempPathFactory, servers: Addresses, outer_spark: SparkSession
) -> Deployment:
    """Create the deployment that all tests of a module share."""
    prefix = f"e{next(_NUMBERS)}"
    return Deployment(tmp_path_factory.mktemp(prefix), servers, outer_spark, prefix)
