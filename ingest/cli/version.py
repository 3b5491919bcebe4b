"""`ingest --version`: the versions that belong together, without starting a JVM."""

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from ingest.errors import UsageError
from ingest.jars.pins import read_pins
from ingest.spark.jdk import find_java

PACKAGE: Final = "hudi-cdc-ingest"


def version_text() -> str:
    """Return one line per part: the package, Python, Spark, Hudi, Java."""
    pinned = {jar.artifact: jar.version for jar in read_pins()}
    parts = {
        "ingest": _installed(PACKAGE),
        "Python": platform.python_version(),
        "Spark": f"{_installed('pyspark')} (pyspark), {pinned['spark-avro']} (jars)",
        "Hudi": pinned["hudi-spark3.5-bundle"],
        "Kafka client": pinned["kafka-clients"],
        "Java": _java(),
    }
    return "\n".join(f"{name} {text}" for name, text in parts.items())


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _java() -> str:
    try:
        java = find_java()
    except UsageError as error:
        return f"not found: {error.problem}"
    return f"{java.version} ({java.program})"
