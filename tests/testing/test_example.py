"""The example of `docs/testing.md` runs, as a user would have it, and is what the page shows."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

from ingest import testing
from ingest.testing import Topic

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "test_customers.py"
PAGE = (DOCS / "testing.md").read_text(encoding="utf-8")

spec = spec_from_file_location("example", EXAMPLE)
assert spec is not None
assert spec.loader is not None
example = module_from_spec(spec)
spec.loader.exec_module(example)

test_the_example_passes = pytest.mark.spark(
    pytest.mark.servers(example.test_customers_get_a_phone_and_more_points)
)


def test_the_page_shows_the_example() -> None:
    """Every line."""
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```\n" in PAGE


def test_what_the_page_names_is_there() -> None:
    """Constructors of columns, and a topic's methods."""
    told = re.findall(r"`(\w+)\(", PAGE)
    assert len(told) > 15
    known = {*testing.__all__, *dir(Topic), "topic"}
    assert [name for name in told if name not in known] == []
