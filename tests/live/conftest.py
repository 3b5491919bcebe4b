"""Live tests: one line says what they miss."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.deployment import Deployments
from tests.live import database, engine, engine_mariadb, mariadb, mongodb
from tests.live.verified import Live, serve_live


@pytest.fixture(scope="session")
def binaries() -> Path:
    """Give PostgreSQL's binaries; when they or the engine are missing, end with one line that says so."""
    result = database.find_binaries()
    if result is None:
        pytest.exit(database.MISSING, returncode=1)
    if not (engine.JARS / ".stamp").exists():
        pytest.exit(engine.MISSING, returncode=1)
    return result


@pytest.fixture(scope="session")
def live(
    binaries: Path, deployments: Deployments, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Give a database, its connector, and a table of each of its tables."""
    with serve_live(binaries, deployments, tmp_path_factory.mktemp("verify")) as result:
        yield result


@pytest.fixture(scope="session")
def mariadb_connector() -> None:
    """End with one line when MariaDB's server or its connector is missing."""
    if shutil.which("mariadbd") is None:
        pytest.exit(mariadb.MISSING, returncode=1)
    for module in (engine, engine_mariadb):
        folder = engine.JARS if module is engine else engine_mariadb.CONNECTOR
        if not (folder / ".stamp").exists():
            pytest.exit(module.MISSING, returncode=1)


@pytest.fixture(scope="session")
def mongodb_jars() -> None:
    """End with one line when the server of MongoDB's protocol is missing."""
    if not (mongodb.SERVER / ".stamp").exists():
        pytest.exit(mongodb.MISSING, returncode=1)
