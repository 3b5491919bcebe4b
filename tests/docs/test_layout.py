"""The built pages in Chromium, at the width of a laptop and of a phone."""

import html
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser

DOCS = Path(__file__).parents[2] / "docs"
MISSING = "the layout of the pages needs Chromium: install Debian's package chromium"
BROWSER = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--allow-file-access-from-files",
    "--dump-dom",
    "--virtual-time-budget=30000",
)
REPORT = """
onload = () => {
  const lines = [];
  for (const frame of document.querySelectorAll("iframe")) {
    const page = frame.contentDocument, root = page.documentElement;
    if (root.scrollWidth > root.clientWidth) lines.push("page " + frame.title);
    for (const table of page.querySelectorAll(".table-wrapper"))
      if (table.scrollWidth > table.clientWidth + 1)
        lines.push("table " + frame.title + ": " + table.innerText.replace(/\\s+/g, " ").slice(0, 60));
    if (!page.querySelector("h1")) lines.push("empty " + frame.title);
  }
  document.getElementById("report").textContent = lines.join("\\n");
}
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages."""
    folder = tmp_path_factory.mktemp("site")
    build = [sys.executable, "-m", "sphinx", "-q", "-n", "-W", "-d", str(folder / "doctrees")]
    subprocess.run([*build, str(DOCS), str(folder / "html")], check=True)
    return folder / "html"


def overflows(site: Path, width: int) -> list[str]:
    """Return the pages and tables that are wider than the window."""
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.exit(MISSING, returncode=1)
    pages = sorted(str(page.relative_to(site)) for page in own_pages(site))
    frames = "".join(
        f'<iframe title="{page}" src="{page}" style="width:{width}px;height:800px"></iframe>'
        for page in pages
    )
    wrapper = site / f"all-{width}.html"
    wrapper.write_text(f'<body>{frames}<pre id="report">nothing</pre><script>{REPORT}</script>')
    done = subprocess.run(
        [chromium, *BROWSER, f"--window-size={width + 60},900", wrapper.as_uri()],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    (report,) = re.findall(r'<pre id="report">(.*?)</pre>', done.stdout, re.DOTALL)
    return [line for line in html.unescape(report).split("\n") if line]


def own_pages(site: Path) -> list[Path]:
    """Return the pages of our own: neither index nor search."""
    own = {page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    return [site / page for page in own if (site / page).exists()]


def test_no_table_is_cut_off_on_a_laptop(site: Path) -> None:
    """At 1280 pixels every column of every table is in view."""
    assert overflows(site, 1280) == []


def test_no_page_scrolls_sideways_on_a_phone(site: Path) -> None:
    """At 400 pixels wide tables scroll by themselves, and the page does not."""
    assert [line for line in overflows(site, 400) if not line.startswith("table ")] == []
