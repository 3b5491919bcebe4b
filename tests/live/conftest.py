"""Live tests: one line says what they miss."""

from pathlib import Path

import pytest

from tests.live import database, engine


@pytest.fixture(scope="session")
def binaries() -> Path:
    """Give PostgreSQL's binaries; when they or the engine are missing, end with one line that says so."""
    result = database.find_binaries()
    if result is None:
        pytest.exit(database.MISSING, returncode=1)
    if not (engine.JARS / ".stamp").exists():
        pytest.exit(engine.MISSING, returncode=1)
    return result
