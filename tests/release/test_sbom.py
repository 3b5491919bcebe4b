"""The bill of materials: all that a job loads, in the versions of the lock file and the pom."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.release

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-release" / "bin" / "python"


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Write the bill as `make test-release` does; the script checks it against CycloneDX's schema."""
    path = tmp_path_factory.mktemp("sbom") / "bill.cdx.json"
    subprocess.run([str(PYTHON), str(ROOT / ".ci" / "sbom.py"), str(path)], check=True)
    return dict(json.loads(path.read_text(encoding="utf-8")))


def test_the_bill_has_every_locked_package_and_every_jar(bill: dict[str, Any]) -> None:
    """By package URL; each package with the hashes of its files."""
    lock = (ROOT / "docker" / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([\w.-]+)==([^\s\\]+)", lock, re.MULTILINE)
    locked = {f"pkg:pypi/{name}@{version}" for name, version in pins}
    purls = {item["purl"] for item in bill["components"]}
    assert {purl for purl in purls if purl.startswith("pkg:pypi/")} == locked
    jars = sorted(purl for purl in purls if purl.startswith("pkg:maven/"))
    assert len(jars) == 6
    assert "pkg:maven/org.apache.hudi/hudi-spark3.5-bundle_2.12@1.2.0" in jars
    assert all(item["hashes"] for item in bill["components"])


def test_the_package_depends_on_all_of_it(bill: dict[str, Any]) -> None:
    """Its own component is the subject of the bill."""
    subject = bill["metadata"]["component"]
    assert subject["name"] == "hudi-cdc-ingest"
    (edges,) = [item["dependsOn"] for item in bill["dependencies"] if item["ref"] == subject["bom-ref"]]
    assert len(edges) == len(bill["components"])
