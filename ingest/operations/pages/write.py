"""Pages written into a folder: whole files, the index last, and no page of a table that is gone."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from ingest.errors import UsageError
from ingest.names import TABLE_PAGES, page_name
from ingest.operations.pages.render import GENERATOR, Renderer, Site
from ingest.operations.status.health import Bound
from ingest.operations.status.overview import LakeOverview
from ingest.report.outcome import write_whole
from ingest.settings import Settings

_MARK: Final = f'<meta name="generator" content="{GENERATOR}">'
_HEAD_BYTES: Final = 1_000


def write_site(folder: Path, lake: LakeOverview, settings: Settings, bound: Bound | None) -> Path:
    """Write the pages of a deployment, and return the index."""
    site = Site(
        settings.title, settings.lake.path, settings.source, datetime.now(UTC), settings.secrets(), bound
    )
    return write_pages(folder, lake, site)


def write_pages(folder: Path, lake: LakeOverview, site: Site) -> Path:
    """Write `index.html` and `table/*.html`.  Return the index.  Raises UsageError for an unusable folder."""
    renderer = Renderer(site)
    pages = {page_name(overview.status.table): overview for overview in lake.tables if overview.table}
    index = folder / "index.html"
    try:
        for name, overview in pages.items():
            write_whole(folder / TABLE_PAGES / name, renderer.table(overview))
        for stale in _pages_of_ours(folder / TABLE_PAGES):
            if stale.name not in pages:
                stale.unlink()
        write_whole(index, renderer.index(lake))
    except OSError as error:
        raise UsageError(f"--html {folder}: cannot be written: {error}", "Name another folder") from error
    return index


def _pages_of_ours(folder: Path) -> Iterator[Path]:
    """Yield the pages that this program wrote."""
    for file in folder.glob("*.html"):
        with file.open("rb") as content:
            if _MARK.encode() in content.read(_HEAD_BYTES):
                yield file
