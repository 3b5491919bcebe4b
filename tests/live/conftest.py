"""Live tests: only when asked for by name; one line says what they miss."""

from pathlib import Path

import pytest

from tests.live import database, engine


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the live tests out of every run whose -m does not speak of them, other markers or none."""
    if "live" in config.option.markexpr:
        return
    live = [item for item in items if item.get_closest_marker("live")]
    if live:
        config.hook.pytest_deselected(items=live)
        items[:] = [item for item in items if item not in live]


@pytest.fixture(scope="session")
def binaries() -> Path:
    """Give PostgreSQL's binaries; when they or the engine are missing, end with one line that says so."""
    found = database.find_binaries()
    if found is None:
        pytest.exit(database.MISSING, returncode=1)
    if not (engine.JARS / ".stamp").exists():
        pytest.exit(engine.MISSING, returncode=1)
    return found
