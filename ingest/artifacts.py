"""Where the JVM artifacts are: made by `make jars` in a checkout, fetched on first need when installed."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import LocalServerError

HERE: Final = Path(__file__).parent
STAMP: Final = ".stamp"
"""The file that marks a complete folder; the Makefile writes the same one."""


@attrs.frozen
class Artifacts:
    """The pom that pins the artifacts, and the folder that holds `lib`, `broker` and `registry`."""

    pom: Path
    root: Path

    def folder(self, name: str, profile: str) -> Path:
        """Name a complete folder of artifacts, letting Maven fill it when it is not there yet."""
        folder = self.root / name
        if not (folder / STAMP).exists():
            self.root.mkdir(parents=True, exist_ok=True)
            with (self.root / ".lock").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                if not (folder / STAMP).exists():
                    _fill(self, name, profile)
        return folder


def find_artifacts() -> Artifacts:
    """Choose between the installed package's cache and the checkout's own `jars/`."""
    packaged = HERE / "pom.xml"
    if not packaged.exists():
        jars = HERE.parent / "jars"
        return Artifacts(pom=jars / "pom.xml", root=jars)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    fingerprint = hashlib.sha256(packaged.read_bytes()).hexdigest()[:12]
    return Artifacts(pom=packaged, root=cache / "hudi-cdc-ingest" / f"jars-{fingerprint}")


def spark_jars() -> tuple[Path, ...]:
    """List the jars that a Spark job needs."""
    return tuple(sorted(find_artifacts().folder("lib", "spark").glob("*.jar")))


def broker_classpath() -> Path:
    """Name the folder that holds the broker's jars."""
    return find_artifacts().folder("broker", "broker")


def registry_home() -> Path:
    """Name the folder of the unpacked registry."""
    return find_artifacts().folder("registry", "registry")


def _fill(artifacts: Artifacts, name: str, profile: str) -> None:
    """Let Maven copy one profile's artifacts; they take their place in one move, or not at all."""
    with tempfile.TemporaryDirectory(dir=artifacts.root, prefix=".fetch-") as scratch:
        _run_maven(artifacts.pom, profile, Path(scratch))
        filled = Path(scratch, name)
        (filled / STAMP).touch()
        shutil.rmtree(artifacts.root / name, ignore_errors=True)
        filled.rename(artifacts.root / name)


def _run_maven(pom: Path, profile: str, out: Path) -> None:
    """Ask Maven's own cache first, then the network."""
    if not (maven := shutil.which("mvn")):
        raise LocalServerError(
            "jars",
            f"the {profile} jars are not here yet, and `mvn` is not on PATH",
            todo="Install Maven",
        )
    command = [maven, "-q", "-B", "-f", str(pom), "-P", profile, f"-Dout={out}", "package"]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if subprocess.run([*command, "-o"], check=False, **quiet).returncode == 0:  # type: ignore[call-overload] # kwargs
        return
    online = subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload] # kwargs
    if online.returncode != 0:
        said = [line for line in online.stdout.splitlines() if line.strip()] or ["it said nothing"]
        raise LocalServerError(
            "jars",
            f"`mvn -f {pom} -P {profile} package` failed: {said[0].removeprefix('[ERROR] ')[:300]}",
            todo="The first start needs Maven Central or a mirror of it",
        )
