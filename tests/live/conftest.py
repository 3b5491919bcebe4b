"""Live tests: only when asked for by name, with what they need in place or one line that says what is missing."""

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
def parts() -> None:
    """Fail with one line when PostgreSQL or the engine is missing."""
    try:
        database.find_binaries()
    except FileNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
    if not (engine.JARS / ".stamp").exists():
        pytest.fail(engine.MISSING, pytrace=False)
