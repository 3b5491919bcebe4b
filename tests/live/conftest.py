"""Live tests: one line says what they miss."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from ingest.local.servers import Addresses
from tests.live import database, engine
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
    binaries: Path, servers: Addresses, outer_spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Live]:
    """Give a database, its connector, and a table of each of its tables."""
    with serve_live(binaries, servers, outer_spark, tmp_path_factory.mktemp("verify")) as result:
        yield result
