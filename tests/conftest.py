"""What the whole suite shares: one pair of real servers."""

from collections.abc import Iterator

import pytest

from ingest.local.servers import Addresses, down, up


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Addresses]:
    """Run a real broker and a real registry for the session; they stop with it, whatever happens."""
    data = tmp_path_factory.mktemp("servers")
    try:
        yield up(data)
    finally:
        down(data)
