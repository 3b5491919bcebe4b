"""The example of `docs/testing.md` passes, and the page shows it whole."""

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
    pytest.mark.servers(example.test_new_version_adds_phone_and_widens_points)
)


def test_the_page_shows_the_example() -> None:
    """Page and file have the same lines."""
    assert f"```python\n{EXAMPLE.read_text(encoding='utf-8')}```\n" in PAGE


def test_every_function_that_the_page_names_exists() -> None:
    """Column constructors and methods of a topic."""
    names = re.findall(r"`(\w+)\(", PAGE)
    assert len(names) > 15
    assert set(names) <= {*testing.__all__, *dir(Topic), "topic"}
