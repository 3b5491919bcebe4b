"""The Java that starts JVMs here: found as Spark's launcher finds it, and checked before anything starts."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Final

import attrs

from ingest.errors import UsageError

OLDEST: Final = 11
"""For the class files of Hudi's bundle and of ingest's functions."""
NEWEST: Final = 22
"""From 23 on, the Hadoop of Spark 3.5 fails with `getSubject is not supported` (HADOOP-19212)."""
TESTED: Final = 17
ANSWER_S: Final = 30
_TODO: Final = f"Install Java {TESTED}, or set JAVA_HOME to it"
_VERSION: Final = re.compile(r'"(?:1\.)?(\d+)')


@attrs.frozen
class Java:
    """A Java that runs: its program and its feature version."""

    program: str
    version: int


def find_java() -> Java:
    """Find the Java of JAVA_HOME, else the first on PATH.  Raises UsageError."""
    home = os.environ.get("JAVA_HOME")
    if not home:
        program = shutil.which("java")
        if program is None:
            raise UsageError("`java` is not on PATH, and JAVA_HOME is not set", _TODO)
        return Java(program, _version(program))
    program = str(Path(home, "bin", "java"))
    if not os.access(program, os.X_OK):
        raise UsageError(f"JAVA_HOME is {home}, which has no program bin/java", _TODO)
    return Java(program, _version(program))


def check_spark_java() -> None:
    """Refuse to start Spark with a Java that it cannot run on.  Raises UsageError."""
    java = find_java()
    if not OLDEST <= java.version <= NEWEST:
        raise UsageError(
            f"{java.program} is Java {java.version}, and Spark 3.5 runs on Java {OLDEST} to {NEWEST}", _TODO
        )


def _version(program: str) -> int:
    """Read the version from the file `release` of the installation, else ask the program."""
    release = Path(program).resolve().parent.parent / "release"
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return _ask(program)
    line = next((line for line in text.splitlines() if line.startswith("JAVA_VERSION=")), None)
    return _ask(program) if line is None else _parse(program, line)


def _ask(program: str) -> int:
    try:
        answer = subprocess.run(
            [program, "-version"], capture_output=True, text=True, check=True, timeout=ANSWER_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"{program} cannot run: {error}", _TODO) from None
    return _parse(program, answer.stderr)


def _parse(program: str, text: str) -> int:
    match = _VERSION.search(text)
    if match is None:
        raise UsageError(f"{program} does not print a version: {text.strip()[:80]!r}", _TODO)
    return int(match[1])
