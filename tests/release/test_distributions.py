"""The wheel and the sdist, built as for a release: files, metadata, the links of the package page."""

import re
import subprocess
import tarfile
import tomllib
import zipfile
from email import message_from_string
from email.message import Message
from pathlib import Path

import pytest

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = f"hudi_cdc_ingest-{PROJECT['version']}"
RECORDING = "registry_fixtures/sqlserver"
TOP_LEVEL = {
    "ingest", "jvm", "docs", "docker", "registry_fixtures", "hatch_build.py", "pyproject.toml",
    "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "PKG-INFO", ".gitignore",
}  # fmt: skip


@pytest.fixture(scope="module")
def wheel(dist: Path) -> zipfile.ZipFile:
    """Open the wheel."""
    return zipfile.ZipFile(dist / f"{NAME}-py3-none-any.whl")


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    """Return the wheel's metadata."""
    return message_from_string(wheel.read(f"{NAME}.dist-info/METADATA").decode())


def known(folder: str) -> set[str]:
    """Return the files of a folder that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", folder], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return set(listed.stdout.rstrip("\0").split("\0"))


def test_the_wheel_has_the_package_its_jar_and_the_sample_only(wheel: zipfile.ZipFile) -> None:
    """Nothing of tests, docs or a developer's folder."""
    files = {name for name in wheel.namelist() if not name.startswith(f"{NAME}.dist-info/")}
    sample = {name.replace(RECORDING, "ingest/sample") for name in known(RECORDING)}
    assert files == known("ingest") | sample | {"ingest/ingest-functions.jar"}


def test_the_sdist_has_sources_and_pages_and_nothing_else(dist: Path) -> None:
    """Only the listed folders of the root; every page of the site; no build result."""
    with tarfile.open(dist / f"{NAME}.tar.gz") as archive:
        files = {name.removeprefix(f"{NAME}/") for name in archive.getnames()}
    assert {name.partition("/")[0] for name in files} == TOP_LEVEL
    pages = {str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")}
    assert pages - files == set()
    assert [name for name in files if re.search(r"\.(pyc|jar|class|whl)$|/target/|jars/lib", name)] == []


def test_the_metadata_is_complete(metadata: Message) -> None:
    """Version, licence file, addresses and entry points, as pyproject.toml has them."""
    assert metadata["Version"] == PROJECT["version"]
    assert metadata["License-Expression"] == "Apache-2.0"
    assert set(metadata.get_all("Project-URL") or []) == {
        f"{name}, {url}" for name, url in PROJECT["urls"].items()
    }
    assert {"spark", "local", "airflow", "testing"} <= set(metadata.get_all("Provides-Extra") or [])


def test_every_link_of_the_package_page_is_absolute_and_leads_to_a_file(metadata: Message) -> None:
    """A relative link works in the repository only."""
    base = f"{PROJECT['urls']['Repository']}/blob/v{PROJECT['version']}/"
    links = re.findall(r"\]\(([^)]+)\)", metadata.get_payload())
    assert len(links) > 30
    own = [link.removeprefix(base).partition("#")[0] for link in links if link.startswith(base)]
    assert [link for link in links if not link.startswith("https://")] == []
    assert [path for path in own if not (ROOT / path).is_file()] == []


def test_the_wheel_carries_the_entry_points(wheel: zipfile.ZipFile) -> None:
    """The command, the pytest plugin, Airflow's provider and its listener."""
    text = wheel.read(f"{NAME}.dist-info/entry_points.txt").decode()
    assert set(re.findall(r"^\[(.+)\]$", text, re.MULTILINE)) == {
        "console_scripts", "pytest11", "apache_airflow_provider", "airflow.plugins",
    }  # fmt: skip
