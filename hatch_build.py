"""Build hooks: Maven builds the jar of `jvm/` into the wheel, and the readme gets absolute links."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

RELATIVE_LINK = re.compile(r"\]\((?!https?://|#)([^)]+)\)")


class FunctionsJar(BuildHookInterface[Any]):
    """Add the jar of our own functions to the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar, except for a checkout's own install, which uses the jar of `make setup`."""
        if version == "editable":
            return
        build_data["force_include"][str(_build(Path(self.root)))] = "ingest/ingest-functions.jar"


class PackagePage(MetadataHookInterface):
    """Give README.md to the package page, where its relative links would lead nowhere."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Let each link lead to the file of this version in the repository."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        base = f"{metadata['urls']['Repository']}/blob/v{metadata['version']}"
        absolute = RELATIVE_LINK.sub(lambda match: f"]({base}/{match[1]})", text)
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute}


def _build(root: Path) -> Path:
    """Run Maven offline, and again with the network if its own cache lacks an artifact."""
    maven = shutil.which("mvn")
    if maven is None:
        message = "building the wheel needs Maven and a JDK: `mvn` is not on PATH"
        raise RuntimeError(message)
    command = [maven, "-q", "-B", "-f", str(root / "jvm" / "pom.xml"), "-DskipTests", "package"]
    if subprocess.run([*command, "-o"], check=False, capture_output=True).returncode != 0:
        subprocess.run(command, check=True)
    return root / "jvm" / "target" / "ingest-functions.jar"
