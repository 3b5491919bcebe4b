"""The jars of a JVM that is started here: the platform's jars that fit, and pinned ones for the rest.

A platform (EMR, Dataproc, a custom image) may bring Hudi's bundle or Kafka's jars in `$SPARK_HOME/jars` or on
`spark.driver.extraClassPath`.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ingest.errors import JarError, UsageError
from ingest.jars.artifacts import find_artifacts
from ingest.jars.platform import (
    SPARK,
    PlatformJar,
    check_jar,
    coordinates,
    find_jars,
    identify,
    replaced,
)
from ingest.settings.deployment import SparkSettings

EXTRA: Final = "spark.driver.extraClassPath"
_PYSPARK: Final = re.compile(r"""^__version__.*['\"](.+)['\"]""", re.MULTILINE)


def spark_home() -> str:
    """Return the folder of the Spark that a JVM started here runs, as pyspark finds it, but without pyspark.

    Raises `UsageError` without Spark.
    """
    home = os.environ.get("SPARK_HOME")
    spec = None if home else find_spec("pyspark")
    if spec is not None and spec.origin is not None:
        home = str(Path(spec.origin).parent)
    if not home:
        raise UsageError("pyspark is not installed", "pip install 'hudi-cdc-ingest[spark]'")
    return home


def pyspark_version() -> str:
    """Return the version of the pyspark on Python's path, or an empty text without one.

    spark-submit puts a zip there, so its loader reads the file.
    """
    spec = find_spec("pyspark")
    if spec is None or spec.origin is None or spec.loader is None:
        return ""
    data: bytes = spec.loader.get_data(str(Path(spec.origin).with_name("version.py")))  # type: ignore[attr-defined]
    match = _PYSPARK.search(data.decode(errors="replace"))
    return match[1] if match else ""


def platform_artifacts(settings: SparkSettings) -> frozenset[str]:
    """Return the artifacts on the class path that Spark's launcher makes.

    Raises `UsageError` for a Spark or pyspark of another version, `JarError` for a jar that does not fit.
    """
    jars = find_jars(_entries(settings.conf))
    check_spark(jars)
    for jar in _user_jars(settings.conf):
        check_jar(jar)
    return replaced(jars) - {"spark-core"}


def job_jars(settings: SparkSettings) -> tuple[Path, ...]:
    """Return the jars to add to Spark's own.

    Raises as `platform_artifacts`, and `JarError` for missing jars if `fetch_jars` is off.
    """
    present = platform_artifacts(settings)
    if settings.jars is None:
        _check_complete(settings, present)
        return find_artifacts().spark_jars(settings.repository, present)
    own = tuple(sorted(settings.jars.glob("*.jar")))
    identified = {path: identify(str(path)) for path in own}
    replaced([jar for jar in identified.values() if jar])
    return tuple(path for path, jar in identified.items() if jar is None or jar.artifact not in present)


def _entries(conf: Mapping[str, str]) -> Iterator[str]:
    home = spark_home()
    yield str(Path(home, "jars"))
    folder = os.environ.get("SPARK_CONF_DIR") or str(Path(home, "conf"))
    extra = conf.get(EXTRA) or _default(Path(folder, "spark-defaults.conf"), EXTRA)
    for entries in (extra, os.environ.get("SPARK_DIST_CLASSPATH", "")):
        yield from filter(None, entries.split(os.pathsep))


def _default(file: Path, name: str) -> str:
    """Read one of Spark's defaults: `name value` or `name=value`, a line each."""
    try:
        lines = file.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    pairs = (line.strip().replace("=", " ", 1).split(None, 1) for line in lines)
    return {pair[0]: pair[1].strip() for pair in pairs if len(pair) > 1}.get(name, "")


def _user_jars(conf: Mapping[str, str]) -> Iterator[PlatformJar]:
    for path in filter(None, conf.get("spark.jars", "").split(",")):
        if jar := identify(path.strip()):
            yield jar
    yield from coordinates(conf.get("spark.jars.packages", ""))


def check_spark(jars: Iterable[PlatformJar]) -> None:
    """Compare pyspark and Spark with the versions that the jars are for."""
    version = pyspark_version()
    if not version.startswith(f"{SPARK}."):
        raise UsageError(
            f"pyspark is {version}, and ingest runs on Spark {SPARK}",
            f"pip install 'pyspark>={SPARK}.0,<3.6', or set SPARK_HOME and PYTHONPATH to a Spark {SPARK}",
        )
    for jar in jars:
        if jar.artifact == "spark-core":
            try:
                check_jar(jar)
            except JarError as error:
                todo = f"Set SPARK_HOME to a Spark {SPARK} for Scala 2.12, or unset it"
                raise UsageError(f"{error.jar}: {error.problem}", todo) from None


def _check_complete(settings: SparkSettings, present: frozenset[str]) -> None:
    """Raise `JarError` if jars must not be fetched and the platform lacks one."""
    if settings.fetch_jars:
        return
    missing = [jar.file for jar in find_artifacts().pinned().jars if jar.artifact not in present]
    if missing:
        raise JarError(
            ", ".join(missing),
            f"missing on the class path of {spark_home()}, and [spark] fetch_jars is false",
            "Add them there, or set fetch_jars to true",
        )
