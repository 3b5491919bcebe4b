"""The examples of the pages pass, and the pages show them whole."""

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from ingest import testing
from ingest.testing import Topic

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLE = DOCS / "examples" / "test_customers.py"
PAGE = (DOCS / "testing.md").read_text(encoding="utf-8")

REBUILD = DOCS / "examples" / "test_rebuild.py"
LINEAGE = DOCS / "examples" / "test_lineage.py"
CHOSEN = DOCS / "examples" / "test_chosen.py"
HISTORY = DOCS / "examples" / "test_history.py"
SHARDS = DOCS / "examples" / "test_shards.py"
SPLIT = DOCS / "examples" / "test_split.py"


def load(path: Path) -> ModuleType:
    """Import an example."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


test_the_example_passes = pytest.mark.spark(
    pytest.mark.servers(load(EXAMPLE).test_new_version_adds_phone_and_widens_points)
)
test_the_rebuild_passes = pytest.mark.spark(
    pytest.mark.servers(load(REBUILD).test_rebuild_keeps_rows_and_offsets)
)
test_the_shards_pass = pytest.mark.spark(pytest.mark.servers(load(SHARDS).test_shards_become_one_table))
test_the_split_passes = pytest.mark.spark(pytest.mark.servers(load(SPLIT).test_one_topic_becomes_two_tables))
test_the_choice_passes = pytest.mark.spark(pytest.mark.servers(load(CHOSEN).test_chosen_rows_and_columns))
test_the_history_passes = pytest.mark.spark(pytest.mark.servers(load(HISTORY).test_customers_as_of_any_day))


test_the_lineage_passes = pytest.mark.spark(
    pytest.mark.servers(load(LINEAGE).test_events_name_topic_table_and_columns)
)


@pytest.mark.parametrize(
    ("page", "example"),
    [
        ("testing.md", EXAMPLE),
        ("rebuild.md", REBUILD),
        ("lineage.md", LINEAGE),
        ("chosen.md", CHOSEN),
        ("history.md", HISTORY),
        ("shards.md", SHARDS),
        ("split.md", SPLIT),
    ],
)
def test_the_page_shows_the_example(page: str, example: Path) -> None:
    """Page and file have the same lines."""
    code = example.read_text(encoding="utf-8")
    assert f"```python\n{code}```\n" in (DOCS / page).read_text(encoding="utf-8")


def test_every_function_that_the_page_names_exists() -> None:
    """Column constructors and methods of a topic."""
    names = re.findall(r"`(\w+)\(", PAGE)
    assert len(names) > 15
    assert set(names) <= {*testing.__all__, *dir(Topic), "topic"}
