"""The JVM artifacts, from `make setup` in a checkout, or fetched at first use by an installed package.

The wheel contains the jar of ingest's functions.  All others come by HTTPS (`ingest.jars`).
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
from collections.abc import Collection
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import LocalServerError
from ingest.jars.folder import JarFolder, lock_folder
from ingest.jars.pins import FILE, read_pins

HERE: Final = Path(__file__).parents[1]
STAMP: Final = ".stamp"
"""The file that marks an unpacked archive.  The Makefile writes the same one."""
FUNCTIONS: Final = "ingest-functions.jar"
"""The jar of ingest's functions: in the package of a wheel, in `jars/lib` of a checkout."""


@attrs.frozen
class Artifacts:
    """The folder of `lib`, `broker` and `registry`, and ingest's jar."""

    root: Path
    functions_jar: Path
    sources: Path | None = None
    """The sources of ingest's jar, in a checkout only.  The jar must not be older than any of them."""

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
        """Return the folder of a job's jars, complete or not, `without` those artifacts."""
        return JarFolder(self.root / "lib", tuple(jar for jar in read_pins() if jar.artifact not in without))

    def spark_jars(self, repository: str, without: Collection[str] = ()) -> tuple[Path, ...]:
        """List the jars of a Spark job.  Missing ones are fetched."""
        jars = self.pinned(without)
        self._complete(jars, repository)
        return tuple(sorted({*jars.paths(), self.functions()}))

    def broker(self) -> Path:
        """Return the folder of the broker's jars.  Missing ones are fetched."""
        jars = JarFolder(self.root / "broker", read_pins("broker"))
        self._complete(jars)
        return jars.path

    def registry(self) -> Path:
        """Return the folder of the unpacked registry.  Its archive is fetched if needed."""
        home, archives = self.root / "registry", JarFolder(self.root / "archives", read_pins("registry"))
        if not (home / STAMP).exists():
            with lock_folder(self.root):
                if not (home / STAMP).exists():
                    self._complete(archives)
                    _unpack(archives.paths()[0], home)
        return home

    def _complete(self, jars: JarFolder, repository: str = "") -> None:
        """Fetch what a folder lacks.  In a checkout Maven does so, and Python only looks."""
        if self.sources is None:
            jars.complete(repository)
        elif missing := jars.incomplete():
            todo = "Run `make jars`, and `make pins` after a change of jars/pom.xml"
            raise LocalServerError("jars", f"{jars.path} lacks {missing[0].file}", todo=todo)


_TODO: Final = "Run `make functions`"


def find_artifacts() -> Artifacts:
    """Choose between the cache of an installed package and the `jars/` of a checkout."""
    packaged = HERE / FUNCTIONS
    if not packaged.exists():
        jars = HERE.parent / "jars"
        return Artifacts(jars, jars / "lib" / FUNCTIONS, HERE.parent / "jvm" / "src" / "main")
    pinned = hashlib.sha256(FILE.read_bytes()).hexdigest()[:12]
    return Artifacts(cache_folder() / f"jars-{pinned}", packaged)


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
    return find_artifacts().broker()


def registry_home() -> Path:
    """Return the folder of the unpacked registry."""
    return find_artifacts().registry()


def _unpack(archive: Path, home: Path) -> None:
    """Unpack an archive, move the folder into place in one step, and remove the archive."""
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".unpack-") as scratch:
        unpacked = Path(scratch, home.name)
        try:
            with tarfile.open(archive) as content:
                # As the documentation of tarfile has it: Python 3.11.3 and earlier lack the filter.
                content.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
                content.extractall(unpacked)  # noqa: S202  of a known checksum
            (unpacked / STAMP).touch()
        except OSError as error:
            todo = "Free some space, or set XDG_CACHE_HOME to a folder on another disk"
            raise LocalServerError("registry", f"{archive} cannot be unpacked: {error}", todo=todo) from None
        shutil.rmtree(home, ignore_errors=True)
        unpacked.rename(home)
    archive.unlink()
