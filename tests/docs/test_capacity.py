"""The formulas of docs/capacity.md give its table, and the figures that were measured."""

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "capacity.md").read_text(encoding="utf-8")
MEASURED = (DOCS / "performance.md").read_text(encoding="utf-8")
RECORD = (DOCS / "reference" / "places.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def formulas() -> dict[str, Any]:
    """Run the page's Python block, and return its names."""
    (block,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)  # noqa: S102  the page's own code
    return names


def test_the_table_follows_from_the_formulas(formulas: dict[str, Any]) -> None:
    """Each line of deployments."""
    lines = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert len(lines) == 7
    for tables, events, cells in lines:
        cores, drivers, *daily = formulas["deployment"](number(tables), number(events))
        shown = [f"{cores:.1f}", f"{drivers:.2f}", *(f"{count:,.0f}" for count in daily)]
        assert cells.split(" | ") == shown


@pytest.mark.parametrize(
    ("work", "events", "again"),
    [
        ("1,000,000 events into an empty MOR table", 1_000_000, 0),
        ("200,000 changes over these, COW", 200_000, 565_000),
        ("200,000 changes over these, MOR", 200_000, 0),
        ("1,000 changes over 10,000 rows, cold process", 1_000, 10_000),
    ],
)
def test_a_run_costs_what_was_measured(formulas: dict[str, Any], work: str, events: int, again: int) -> None:
    """Within a quarter of the CPU seconds on docs/performance.md."""
    (cell,) = re.findall(rf"^\| {re.escape(work)} \| ([\d.]+) /", MEASURED, re.MULTILINE)
    assert formulas["run_cpu"](1, 1, events, again) == pytest.approx(float(cell), rel=0.25)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("START", "8.5 CPU s"),
        ("IDLE", "0.0024 CPU s"),
        ("COMMIT", "0.23 CPU s"),
        ("EVENT", "18 µs"),
        ("ROW", "17 µs"),
        ("COMMITS", "6.7"),
        ("REQUESTS", "113"),
        ("FILES", "3"),
    ],
)
def test_the_figures_are_those_of_the_formulas(formulas: dict[str, Any], name: str, shown: str) -> None:
    """And stand in the table above them."""
    unit = 1e-6 if shown.endswith("µs") else 1
    assert formulas[name] == pytest.approx(float(shown.split(maxsplit=1)[0]) * unit)
    assert f"| `{name}` | {shown} |" in PAGE


def test_a_commit_costs_what_was_measured(formulas: dict[str, Any]) -> None:
    """As `make bench-fleet` on docs/performance.md and the requests on docs/reference/places.md."""
    ((cpu, commits),) = re.findall(r"([\d.]+) CPU s a commit and ([\d.]+) commits\s+a\s+second", MEASURED)
    (requests,) = re.findall(r"^\| 2 buckets \| commit \| off \|.* (\d+) \|$", RECORD, re.MULTILINE)
    assert formulas["COMMIT"] == float(cpu)
    assert formulas["COMMITS"] == float(commits)
    assert formulas["REQUESTS"] == int(requests)


def number(text: str) -> int:
    """Return a number that has commas between its thousands."""
    return int(text.replace(",", ""))
