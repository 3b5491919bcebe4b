"""Deployments for the end-to-end tests."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployment, Deployments
from tests.e2e.recordings import SQLSERVER, Recording


@pytest.fixture
def make_deployment(tmp_path: Path, deployments: Deployments) -> Callable[..., Deployment]:
    """Return a function that creates a deployment with its own topics, by default SQL Server's."""

    def make(recording: Recording = SQLSERVER) -> Deployment:
        return deployments.recorded(tmp_path, recording=recording)

    return make


@pytest.fixture
def deployment(deployments: Deployments, tmp_path: Path) -> Deployment:
    """Create the deployment of a test that needs one, over SQL Server's recording."""
    return deployments.recorded(tmp_path)


@pytest.fixture(scope="module")
def shared_deployment(tmp_path_factory: pytest.TempPathFactory, deployments: Deployments) -> Deployment:
    """Create the deployment that all tests of a module share."""
    return deployments.recorded(tmp_path_factory.mktemp("shared"))
