"""The pages that `ingest pages` writes in Chromium: they render, fit, answer to the keyboard and to axe."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ingest import Session
from ingest.operations.pages.render import Site
from ingest.operations.pages.write import write_pages
from ingest.operations.status.overview import LakeOverview
from tests.browser.chromium import Page, chromium
from tests.operations.pages.lake import HOSTILE, make_lake
from tests.operations.pages.test_pages import overview

pytestmark = pytest.mark.browser

AXE = Path(__file__).parents[2] / "build" / "browser" / "axe.min.js"
NAMES = ("index.html", "table/customers.html", "table/hostile.html", "table/damaged.html", "any/index.html",
         "any/table/t.html")  # fmt: skip
WIDTHS = (400, 1280)
FOCUSABLE = "a[href], summary, input, [tabindex='0']"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the pages of the lake in trouble, and in `any/` pages with markup in every text."""
    deployment = make_lake(tmp_path_factory.mktemp("site") / "deployment")
    folder = deployment.root / "pages"
    with Session.open(deployment.root / "ingest.toml") as session:
        session.report_html(folder)
    text = HOSTILE + "y" * 10_000
    write_pages(
        folder / "any",
        LakeOverview((overview(text),), (text,)),
        Site(text, text, text, datetime.now(UTC), ()),
    )
    return folder


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """Open one tab for all tests."""
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser.open()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_and_is_quiet(site: Path, tab: Page, name: str, width: int) -> None:
    """No console message, no request but the page, nothing beyond the width, nothing run."""
    tab.show(site / name, width=width)

    assert tab.run("document.documentElement.scrollWidth") <= width
    assert tab.run("[...document.querySelectorAll('h1')].every(h => h.getBoundingClientRect().height > 0)")
    assert tab.console == []
    assert tab.requests == [(site / name).as_uri()]


@pytest.mark.parametrize("name", ["index.html", "table/customers.html"])
def test_no_column_is_cut_off_on_a_desk(site: Path, tab: Page, name: str) -> None:
    """All columns of every table are visible at 1280 pixels, without a scroll bar."""
    tab.show(site / name, width=1280)
    wider = "[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth)"
    assert tab.run(f"{wider}.map(e => e.getAttribute('aria-labelledby'))") == []


def test_the_search_leaves_the_tables_with_all_words_and_their_sources(site: Path, tab: Page) -> None:
    """By name, topic or state; the policy of the page allows the script, and an empty box shows all."""
    tab.show(site / "index.html", width=1280)
    box = "document.getElementById('search')"
    type_in = f"(t => {{ {box}.value = t; {box}.dispatchEvent(new Event('input')); }})"
    visible = "[...document.querySelectorAll('tbody .title')].filter(e => e.checkVisibility())"
    names, count = f"{visible}.map(e => e.textContent)", tab.run(f"{visible}.length")

    tab.run(f"{type_in}('CUST unknown')")
    assert tab.run(names) == ["customers"]
    assert tab.run("document.getElementById('shown').textContent") == f"1 of {count}"
    groups = "[...document.querySelectorAll('.source')].filter(e => e.checkVisibility())"
    assert tab.run(f"{groups}.length") == 1
    tab.run(f"{type_in}('')")
    assert tab.run(f"{visible}.length") == count
    assert tab.console == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", NAMES)
def test_axe_finds_nothing_serious(site: Path, tab: Page, name: str, width: int, dark: bool) -> None:  # noqa: FBT001
    """Contrast, names, roles, headings, tables: in both colour schemes, with all details open."""
    tab.show(site / name, width=width, dark=dark)
    tab.run("document.querySelectorAll('details').forEach(d => d.open = true)")
    tab.run(AXE.read_text())
    violations, passes = tab.run(
        "axe.run().then(r => [r.violations.flatMap(v => v.nodes.map(n => "
        "[v.id, n.target.join(' '), n.failureSummary.slice(0, 300)])), r.passes.map(p => p.id)])"
    )

    assert violations == []
    assert {"color-contrast", "document-title", "scrollable-region-focusable"} & set(passes)


@pytest.mark.parametrize("name", ["index.html", "table/customers.html"])
def test_the_keyboard_reaches_everything(site: Path, tab: Page, name: str) -> None:
    """Tab visits every link, detail and table that scrolls, in their order, and shows where it is."""
    tab.show(site / name, width=1280)
    count = tab.run(
        f"window.all = [...document.querySelectorAll(`{FOCUSABLE}`)].filter(e => e.checkVisibility());"
        "all.length"
    )
    visited = []
    for _ in range(count):
        tab.press("Tab")
        visited.append(tab.run("all.indexOf(document.activeElement)"))
        assert tab.run("getComputedStyle(document.activeElement).outlineStyle") != "none"

    assert visited == list(range(count))
    assert count > 5


def test_the_first_tab_skips_to_the_content(site: Path, tab: Page) -> None:
    """For those who come back to look at the tables."""
    tab.show(site / "index.html", width=1280)
    tab.press("Tab")
    tab.press("Enter")
    assert tab.run("location.hash") == "#content"


def test_both_colour_schemes_are_used(site: Path, tab: Page) -> None:
    """As the reader's system says."""
    grounds = []
    for dark in (False, True):
        tab.show(site / "index.html", width=1280, dark=dark)
        grounds.append(tab.run("getComputedStyle(document.body).backgroundColor"))
    assert grounds == ["rgb(247, 247, 245)", "rgb(16, 18, 21)"]
