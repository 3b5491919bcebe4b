"""The jars that a platform's Spark brings: replacements of pinned jars, and jars that do not fit.

Spark's class path comes first, so that a jar of the platform always wins over a pinned one.  A jar that fits
is used.  A jar that does not fit is an error, which names both versions.
"""

import os
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from glob import glob
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import JarError

SCALA: Final = "2.12"
SPARK: Final = "3.5"
_NAME: Final = re.compile(
    r"(?P<artifact>hudi-(?:spark[\d.x]*|utilities)-bundle|spark-(?:core|avro|sql-kafka-0-10|token-provider-kafka-0-10)"
    r"|kafka-clients|commons-pool2)(?:_(?P<scala>\d\.\d+))?(?:-(?P<version>\d.*))?\.jar"
)
_COORDINATE: Final = re.compile(r"[\w.-]+:(?P<name>[\w.-]+):(?P<version>[\w.-]+)")
_MANIFEST: Final = "META-INF/MANIFEST.MF"
_VERSION: Final = re.compile(r"^Implementation-Version: *(\S+)", re.MULTILINE)


@attrs.frozen
class PlatformJar:
    """A jar by its file.  `artifact` excludes the Scala version, and an unknown `version` is empty."""

    path: str
    artifact: str
    scala: str
    version: str

    @property
    def is_hudi(self) -> bool:
        """Whether it is a bundle of Hudi, of any Spark."""
        return self.artifact.startswith("hudi-")

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of the version, without a vendor's suffix."""
        match = re.match(r"\d+(\.\d+)*", self.version)
        return tuple(map(int, match[0].split("."))) if match else ()


@attrs.frozen
class Rule:
    """The versions of an artifact that fit: from `first`, before `end`."""

    first: tuple[int, ...]
    end: tuple[int, ...]
    text: str

    def allows(self, jar: PlatformJar) -> bool:
        """Tell whether a jar has a version that fits.  A release candidate or snapshot does not."""
        is_release = not re.search(r"-(rc|snapshot)", jar.version, re.IGNORECASE)
        return bool(jar.release) and is_release and self.first <= jar.release < self.end


_SPARKS: Final = Rule((3, 5), (3, 6), "3.5")
HUDI: Final = "hudi-spark3.5-bundle"
RULES: Final[Mapping[str, Rule]] = {
    HUDI: Rule((1, 2, 0), (1, 2, 1), "1.2.0"),
    "spark-core": _SPARKS,
    "spark-avro": _SPARKS,
    "spark-sql-kafka-0-10": _SPARKS,
    "spark-token-provider-kafka-0-10": _SPARKS,
    "kafka-clients": Rule((3, 4), (4,), "3.4 to 3.9"),
    "commons-pool2": Rule((2, 11), (3,), "2.11 or later"),
}
"""Artifact -> its rule.  Hudi's is its one version: `jvm/` and `ingest.hudi` use its internals."""


def find_jars(entries: Iterable[str]) -> tuple[PlatformJar, ...]:
    """Find the jars of interest in the entries of a class path: folders, files, `folder/*`."""
    return tuple(jar for entry in entries for path in _files(entry) if (jar := identify(path)) is not None)


def coordinates(packages: str) -> tuple[PlatformJar, ...]:
    """Return the jars of interest that `spark.jars.packages` names."""
    matches = map(_COORDINATE.fullmatch, map(str.strip, packages.split(",")))
    files = (f"{match['name']}-{match['version']}.jar" for match in matches if match)
    return tuple(jar for file in files if (jar := identify(file)) is not None)


def identify(path: str) -> PlatformJar | None:
    """Return the jar of a path, by its file's name, and without a version there by the file's manifest."""
    for name in dict.fromkeys((Path(path).name, Path(os.path.realpath(path)).name)):
        match = _NAME.fullmatch(name)
        if match and match["version"]:
            return PlatformJar(path, match["artifact"], match["scala"] or "", match["version"])
    match = _NAME.fullmatch(Path(path).name)
    if match is None:
        return None
    return PlatformJar(path, match["artifact"], match["scala"] or "", _manifest_version(path))


def check_jar(jar: PlatformJar) -> None:
    """Raise `JarError` for a jar that does not fit, with its version and the one that does."""
    artifact = HUDI if jar.is_hudi else jar.artifact
    rule = RULES[artifact]
    needed = f"{artifact} {rule.text}"
    if jar.artifact != artifact:
        raise _unfit(jar, f"is {jar.artifact} {jar.version}", needed)
    if jar.scala not in {"", SCALA}:
        raise _unfit(jar, f"is for Scala {jar.scala}", f"{needed} for Scala {SCALA}")
    if not rule.allows(jar):
        raise _unfit(jar, f"is {jar.artifact} {jar.version or 'of an unknown version'}", needed)


def replaced(jars: Sequence[PlatformJar]) -> frozenset[str]:
    """Return the artifacts that a platform brings.  Raises `JarError` for a jar that does not fit."""
    for jar in jars:
        check_jar(jar)
    for artifact in RULES:
        versions = {jar.version: jar for jar in jars if jar.artifact == artifact}
        if len(versions) > 1:
            first, second = list(versions.values())[:2]
            raise JarError(
                second.path,
                f"is {artifact} {second.version}, and {first.path} is {first.version}",
                "Remove one of them from the class path of Spark",
            )
    return frozenset(jar.artifact for jar in jars)


def _unfit(jar: PlatformJar, problem: str, needed: str) -> JarError:
    return JarError(
        jar.path,
        f"{problem}, and ingest needs {needed}",
        "Spark's class path comes first: remove the jar from it, or set SPARK_HOME to a Spark without it",
    )


def _files(entry: str) -> Iterator[str]:
    path = Path(entry)
    if entry.endswith("*"):
        yield from sorted(glob(f"{entry}.jar") if entry == "*" else glob(f"{entry[:-1]}*.jar"))  # noqa: PTH207
    elif path.suffix == ".jar":
        yield entry
    elif path.is_dir():
        yield from sorted(str(file) for file in path.glob("*.jar"))


def _manifest_version(path: str) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            manifest = archive.read(_MANIFEST).decode(errors="replace")
    except (OSError, KeyError, zipfile.BadZipFile):
        return ""
    match = _VERSION.search(manifest)
    return match[1] if match else ""
