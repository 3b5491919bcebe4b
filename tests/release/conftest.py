"""The sdist and the wheel, built once for all tests of a release."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the sdist, and the wheel from the sdist alone, as an installer without a wheel does."""
    folder = tmp_path_factory.mktemp("dist")
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    build = [sys.executable, "-m", "uv", "build", "-q", "--offline", "--no-build-isolation"]
    build += ["-o", str(folder)]
    subprocess.run([*build, "--sdist", str(ROOT)], check=True)
    subprocess.run([*build, "--wheel", str(folder / f"hudi_cdc_ingest-{version}.tar.gz")], check=True)
    return folder
