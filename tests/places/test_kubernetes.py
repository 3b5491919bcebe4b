"""The manifests of docker/kubernetes/, against Kubernetes' own schemas; no cluster."""

import subprocess
from pathlib import Path
from typing import Final

import pytest

pytestmark = [pytest.mark.places]

ROOT: Final = Path(__file__).parents[2]
VALIDATE: Final = ROOT / "build" / "kubernetes" / "bin" / "kubernetes-validate"


@pytest.mark.parametrize("version", ["1.31", "1.37"])
def test_the_manifests_fit_the_schemas_of_kubernetes(version: str) -> None:
    """Strictly: an unknown key fails, too. tests/docker examines their content; no cluster ran them."""
    assert VALIDATE.exists(), "build/kubernetes is missing: run `make test-places`"
    files = sorted((ROOT / "docker" / "kubernetes").glob("*.yaml"))
    assert files
    done = subprocess.run(
        [VALIDATE, "--kubernetes-version", version, "--strict", *files],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert (done.stdout + done.stderr).count("passed for resource") >= 4
