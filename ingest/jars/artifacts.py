"""The JVM artifacts, from `make setup` in a checkout, or fetched at first use by an installed package.

The wheel contains the jar of ingest's functions.  The jars of a Spark job come by HTTPS (`ingest.jars`), the
broker and the registry by Maven.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import LocalServerError
from ingest.jars.folder import JarFolder, lock_folder
from ingest.jars.pins import read_pins

HERE: Final = Path(__file__).parents[1]
STAMP: Final = ".stamp"
"""The file that marks a complete folder.  The Makefile writes the same one."""
FUNCTIONS: Final = "ingest-functions.jar"
"""The jar of ingest's functions: in the package of a wheel, in `jars/lib` of a checkout."""


@attrs.frozen
class Artifacts:
    """The pom that pins the artifacts, the folder of `lib`, `broker` and `registry`, and ingest's jar."""

    pom: Path
    root: Path
    functions_jar: Path
    sources: Path | None = None
    """The sources of ingest's jar, in a checkout only.  The jar must not be older than any of them."""

    def folder(self, name: str, profile: str) -> Path:
        """Return a complete folder of artifacts.  Maven fills it if it is missing."""
        folder = self.root / name
        if not (folder / STAMP).exists():
            with lock_folder(self.root):
                if not (folder / STAMP).exists():
                    _fill(self, name, profile)
        return folder

    def functions(self) -> Path:
        """Return the jar of ingest's functions.

        Raises `LocalServerError` if it was not built, or was built from older sources.
        """
        if not self.functions_jar.exists():
            raise LocalServerError("jars", f"{self.functions_jar} does not exist", todo=_TODO)
        sources = self.sources.rglob("*.java") if self.sources else ()
        newest = max((source.stat().st_mtime for source in sources), default=0.0)
        if newest > self.functions_jar.stat().st_mtime:
            raise LocalServerError("jars", f"{self.functions_jar} is older than its sources", todo=_TODO)
        return self.functions_jar

    def pinned(self, without: Collection[str] = ()) -> JarFolder:
        """Return the folder of the pinned jars, complete or not, `without` those artifacts."""
        return JarFolder(self.root / "lib", tuple(jar for jar in read_pins() if jar.artifact not in without))

    def spark_jars(self, repository: str, without: Collection[str] = ()) -> tuple[Path, ...]:
        """List the jars of a Spark job.  In a checkout Maven resolves them from its pom."""
        jars = self.pinned(without)
        if self.sources is None:
            jars.complete(repository)
        elif jars.jars:
            self.folder("lib", "spark")
        return tuple(sorted({*jars.paths(), self.functions()}))


_TODO: Final = "Run `make functions`"


def find_artifacts() -> Artifacts:
    """Choose between the cache of an installed package and the `jars/` of a checkout."""
    packaged = HERE / "pom.xml"
    if not packaged.exists():
        jars = HERE.parent / "jars"
        return Artifacts(
            jars / "pom.xml", jars, jars / "lib" / FUNCTIONS, HERE.parent / "jvm" / "src" / "main"
        )
    pinned = hashlib.sha256(packaged.read_bytes()).hexdigest()[:12]
    return Artifacts(packaged, cache_folder() / f"jars-{pinned}", HERE / FUNCTIONS)


def cache_folder() -> Path:
    """Return the folder for files that can be made again.  It may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hudi-cdc-ingest"


def spark_jars(repository: str = "") -> tuple[Path, ...]:
    """List the jars that a Spark job needs, including the jar of ingest's functions.

    Missing jars are fetched from `repository`.  The default is `INGEST_SPARK_REPOSITORY`, Maven's mirror or
    the repository of Spark's own resolver.
    """
    return find_artifacts().spark_jars(repository)


def broker_classpath() -> Path:
    """Return the folder of the broker's jars."""
    return find_artifacts().folder("broker", "broker")


def registry_home() -> Path:
    """Return the folder of the unpacked registry."""
    return find_artifacts().folder("registry", "registry")


def _fill(artifacts: Artifacts, name: str, profile: str) -> None:
    """Let Maven copy the artifacts of one profile, and move them into place in one step."""
    with tempfile.TemporaryDirectory(dir=artifacts.root, prefix=".fetch-") as scratch:
        _run_maven(artifacts.pom, profile, Path(scratch))
        filled = Path(scratch, name)
        (filled / STAMP).touch()
        shutil.rmtree(artifacts.root / name, ignore_errors=True)
        filled.rename(artifacts.root / name)


def _run_maven(pom: Path, profile: str, out: Path) -> None:
    """Run Maven offline, and again with the network if its cache lacks an artifact."""
    if not (maven := shutil.which("mvn")):
        raise LocalServerError(
            "jars",
            f"the {profile} jars are not fetched yet, and `mvn` is not on PATH",
            todo="Install Maven",
        )
    command = [maven, "-q", "-B", "-f", str(pom), "-P", profile, f"-Dout={out}", "package"]
    quiet = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if subprocess.run([*command, "-o"], check=False, **quiet).returncode == 0:  # type: ignore[call-overload] # kwargs
        return
    online = subprocess.run(command, check=False, **quiet)  # type: ignore[call-overload] # kwargs
    if online.returncode != 0:
        output = [line for line in online.stdout.splitlines() if line.strip()] or ["no output"]
        raise LocalServerError(
            "jars",
            f"`mvn -f {pom} -P {profile} package` failed: {output[0].removeprefix('[ERROR] ')[:300]}",
            todo="The first start needs Maven Central or a mirror of it",
        )
