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
    """Give PostgreSQL's binaries; one line fails the tests when they or the engine are missing."""
    if not (engine.JARS / ".stamp").exists():
        pytest.fail(engine.MISSING, pytrace=False)
    found = database.find_binaries()
    return pytest.fail(database.MISSING, pytrace=False) if found is None else found
