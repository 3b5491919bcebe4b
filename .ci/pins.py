"""Write `ingest/jars/pins.json`: what Maven resolves for `jars/pom.xml`, with sizes and checksums.

`make pins` runs it.  `tests/jars/test_pins.py` compares the file with its result.
"""

import hashlib
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
POM: Final = ROOT / "jars" / "pom.xml"
PROFILES: Final = {"lib": "spark", "broker": "broker"}
"""The folders of jars, and the profile that fills each."""


def pins() -> dict[str, list[dict[str, Any]]]:
    """Return the entries of each folder."""
    with tempfile.TemporaryDirectory() as scratch:
        found = {name: list(_jars(name, profile, Path(scratch))) for name, profile in PROFILES.items()}
        return {**found, "registry": [_registry(Path(scratch))]}


def _jars(name: str, profile: str, scratch: Path) -> Iterator[dict[str, Any]]:
    """Yield an entry for each jar of a profile."""
    listing = scratch / f"{profile}.txt"
    _maven("-P", profile, "dependency:list", "-DincludeScope=runtime", f"-DoutputFile={listing}")
    for group, artifact, version in re.findall(
        r"^\s+([\w.-]+):([\w.-]+):jar:([\w.-]+):", listing.read_text(), re.MULTILINE
    ):
        yield _entry(f"{group}:{artifact}:{version}", ROOT / "jars" / name / f"{artifact}-{version}.jar")


def _registry(scratch: Path) -> dict[str, Any]:
    """Return the entry of the registry's archive, which Maven unpacks."""
    (version,) = re.findall("<registry.version>(.+)</", POM.read_text(encoding="utf-8"))
    group, artifact, kind = "io.apicurio", "apicurio-registry-app", "tar.gz:all"
    _maven(
        "dependency:copy", f"-Dartifact={group}:{artifact}:{version}:{kind}", f"-DoutputDirectory={scratch}"
    )
    return _entry(f"{group}:{artifact}:{kind}:{version}", scratch / f"{artifact}-{version}-all.tar.gz")


def _entry(coordinate: str, file: Path) -> dict[str, Any]:
    with file.open("rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return {"coordinate": coordinate, "size": file.stat().st_size, "sha256": digest}


def _maven(*arguments: str) -> None:
    """Run Maven offline, and again with the network if its cache lacks an artifact."""
    command = ["mvn", "-q", "-B", "-f", str(POM), *arguments]
    if subprocess.run([*command, "-o"], check=False, capture_output=True).returncode != 0:
        subprocess.run(command, check=True)


if __name__ == "__main__":
    text = json.dumps(pins(), indent=2)
    (ROOT / "ingest" / "jars" / "pins.json").write_text(text + "\n", encoding="utf-8")
