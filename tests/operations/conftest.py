"""A deployment of files for the tests of this folder."""

from pathlib import Path

import pytest

from tests.lakes import MadeDeployment


@pytest.fixture
def deployment(tmp_path: Path) -> MadeDeployment:
    """Make a deployment without tables."""
    return MadeDeployment(tmp_path / "deployment")
