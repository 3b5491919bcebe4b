"""`ingest --version`: the versions that belong together, without starting a JVM."""

import platform
import re
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from ingest.errors import UsageError
from ingest.jars.artifacts import find_artifacts
from ingest.spark.jdk import find_java

PACKAGE: Final = "hudi-cdc-ingest"
_PINNED: Final = re.compile(r"<([\w.]+)\.version>([^<]+)<")


def version_text() -> str:
    """Return one line per part: the package, Python, Spark, Hudi, Java."""
    pinned = dict(_PINNED.findall(find_artifacts().pom.read_text(encoding="utf-8")))
    parts = {
        "ingest": _installed(PACKAGE),
        "Python": platform.python_version(),
        "Spark": f"{_installed('pyspark')} (pyspark), {pinned['spark']} (jars)",
        "Hudi": pinned["hudi"],
        "Kafka client": pinned["kafka.clients"],
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
