"""Where the JVM artifacts are: made by `make jars` in a checkout, fetched on first need when installed.

Our own functions are compiled, not fetched: their jar's name tells the sources that it was made of, so that a
changed source is a missing jar, in a checkout as in a cache.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import LocalServerError

HERE: Final = Path(__file__).parent
STAMP: Final = ".stamp"
"""The file that marks a complete folder; the Makefile writes the same one."""
JAVA_RELEASE: Final = "11"
"""The oldest Java of a cluster that Hudi's bundle runs on, too."""


@attrs.frozen
class Artifacts:
    """The pom that pins the artifacts, and the folder that holds `lib`, `broker` and `registry`."""

    pom: Path
    root: Path
    sources: Path
    """The Java sources of our own functions, in the folders of their packages."""

    def folder(self, name: str, profile: str) -> Path:
        """Name a complete folder of artifacts, letting Maven fill it when it is not there yet."""
        folder = self.root / name
        if not (folder / STAMP).exists():
            with self._locked():
                if not (folder / STAMP).exists():
                    _fill(self, name, profile)
        return folder

    def functions(self) -> Path:
        """Name the jar of our own functions, letting `javac` make it when these sources have none yet."""
        lib = self.folder("lib", "spark")
        sources = sorted(self.sources.rglob("*.java"))
        jar = lib / f"ingest-functions-{_fingerprint(sources)}.jar"
        if not jar.exists():
            with self._locked():
                if not jar.exists():
                    _compile(sources, jar)
        return jar

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Let one process at a time make something here."""
        self.root.mkdir(parents=True, exist_ok=True)
        with (self.root / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def find_artifacts() -> Artifacts:
    """Choose between the installed package's cache and the checkout's own `jars/`."""
    packaged = HERE / "pom.xml"
    if not packaged.exists():
        jars = HERE.parent / "jars"
        return Artifacts(jars / "pom.xml", jars, HERE.parent / "jvm" / "src" / "main" / "java")
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    made_of = _fingerprint([packaged, *sorted((HERE / "jvm").rglob("*.java"))])
    return Artifacts(packaged, cache / "hudi-cdc-ingest" / f"jars-{made_of}", HERE / "jvm")


def spark_jars() -> tuple[Path, ...]:
    """List the jars that a Spark job needs, our own functions' among them."""
    functions = find_artifacts().functions()
    others = {jar for jar in functions.parent.glob("*.jar") if not jar.match("ingest-functions-*.jar")}
    return tuple(sorted({functions, *others}))


def broker_classpath() -> Path:
    """Name the folder that holds the broker's jars."""
    return find_artifacts().folder("broker", "broker")


def registry_home() -> Path:
    """Name the folder of the unpacked registry."""
    return find_artifacts().folder("registry", "registry")


def _fingerprint(files: Sequence[Path]) -> str:
    """Name the content of files."""
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()[:12]


def _fill(artifacts: Artifacts, name: str, profile: str) -> None:
    """Let Maven copy one profile's artifacts; they take their place in one move, or not at all."""
    with tempfile.TemporaryDirectory(dir=artifacts.root, prefix=".fetch-") as scratch:
        _run_maven(artifacts.pom, profile, Path(scratch))
        filled = Path(scratch, name)
        (filled / STAMP).touch()
        shutil.rmtree(artifacts.root / name, ignore_errors=True)
        filled.rename(artifacts.root / name)


def _compile(sources: Sequence[Path], jar: Path) -> None:
    """Compile against the jars that the job will run with; the jar comes in one move, older ones go."""
    if not (javac := shutil.which("javac")):
        raise LocalServerError("jars", "`javac` is not on PATH", todo="Install a JDK, 11 or newer")
    with tempfile.TemporaryDirectory(dir=jar.parent, prefix=".compile-") as scratch:
        classes = Path(scratch, "classes")
        target = [
            "--release",
            JAVA_RELEASE,
            "-encoding",
            "UTF-8",
            "-proc:none",
            "-nowarn",
            "-d",
            str(classes),
        ]
        command = [javac, *target, "-cp", f"{_pyspark_jars()}/*", *map(str, sources)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode != 0:
            raise LocalServerError(
                "jars",
                f"`javac` could not compile our functions: {done.stderr.strip()[:300]}",
                todo="It has to be the one of a JDK, 11 or newer",
            )
        _pack(classes, Path(scratch, jar.name))
        Path(scratch, jar.name).rename(jar)
    for older in set(jar.parent.glob("ingest-functions-*.jar")) - {jar}:
        older.unlink()


def _pack(classes: Path, jar: Path) -> None:
    """Put the classes into a jar; the same classes give the same bytes."""
    with zipfile.ZipFile(jar, "w") as archive:
        for file in sorted(classes.rglob("*.class")):
            entry = zipfile.ZipInfo(str(file.relative_to(classes)))  # of a fixed date
            archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)


def _pyspark_jars() -> Path:
    """Find Spark's own jars, without starting or importing it."""
    found = find_spec("pyspark")
    homes = [*(found.submodule_search_locations or ())] if found else []
    if home := os.environ.get("SPARK_HOME"):  # a pyspark that spark-submit put on the path has no jars
        homes.append(home)
    for place in homes:
        if Path(place, "jars").is_dir():
            return Path(place, "jars")
    raise LocalServerError("jars", "Spark's own jars were not found", todo="Install hudi-cdc-ingest[spark]")


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
