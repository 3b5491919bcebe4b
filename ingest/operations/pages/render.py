"""The pages as text: values of `ingest.operations` in the templates of this package."""

import base64
import hashlib
from collections.abc import Collection
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, Final

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from ingest.moments import to_moment
from ingest.names import TABLE_PAGES, page_name
from ingest.operations.pages import text
from ingest.operations.pages.draw import BARS, SPARKS, bars
from ingest.operations.pages.summary import group_by_source, lead, sum_up
from ingest.operations.status.health import STATES, Bound, Health, health
from ingest.operations.status.overview import RUNS, LakeOverview, TableOverview
from ingest.operations.status.remedies import remedies

SECTIONS: Final = (
    "commits", "verification", "schema", "columns", "offsets", "rejects", "storage", "unread",
)  # fmt: skip
"""The sections of a table's page, in order: each is `templates/sections/<name>.html`, and gets `overview`.

To add one, add its template and its name here, and the value that it shows to `TableOverview`.
"""
GENERATOR: Final = "hudi-cdc-ingest"
SCRIPT: Final = (Path(__file__).parent / "templates" / "search.js").read_text(encoding="utf-8")
"""The search of the page of all tables, which works without it. The page's policy allows no other script."""
SCRIPT_HASH: Final = f"sha256-{base64.b64encode(hashlib.sha256(SCRIPT.encode()).digest()).decode()}"


@attrs.frozen
class Site:
    """The facts that all pages share."""

    title: str
    lake: str
    source: str
    """The settings file."""
    made_at: datetime
    secrets: Collection[str]
    """Texts that no page may show."""
    bound: Bound | None = None


class Renderer:
    """Renders the pages of one site.  Every value is escaped, and rid of secrets."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self._environment = _environment(tuple(site.secrets))

    def index(self, lake: LakeOverview) -> str:
        """Render the page of all tables, by source and sorted by trouble."""
        states = [self.health(overview).state for overview in lake.tables]
        return self._render(
            "index.html",
            lake=lake,
            count=len(lake.tables),
            counts={state: states.count(state) for state in STATES},
            lead=lead(lake.tables, self.site.made_at, self.site.bound),
            totals=sum_up(lake.tables, self.site.made_at),
            groups=group_by_source(lake.tables, self.site.bound),
            health_of=self.health,
            page_of=_page_of,
            bars_of=lambda overview: bars(overview.commits, SPARKS),
            is_said=lambda reason: any(reason in problem for problem in lake.problems),
            most=RUNS,
            script=Markup(SCRIPT),  # noqa: S704  a file of this package
            script_hash=SCRIPT_HASH,
        )

    def table(self, overview: TableOverview) -> str:
        """Render the page of one table."""
        return self._render(
            "table.html",
            overview=overview,
            state=self.health(overview).state,
            remedies=remedies(overview, self.site.bound),
            bars=bars(overview.commits, BARS),
            sections=[f"sections/{name}.html" for name in SECTIONS],
        )

    def health(self, overview: TableOverview) -> Health:
        """Return the health of a table."""
        return health(overview.status, self.site.bound)

    def _render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(values, site=self.site)


def _page_of(overview: TableOverview) -> str:
    """Return the address of a table's page, empty without one."""
    return f"{TABLE_PAGES}/{page_name(overview.status.table)}" if overview.table else ""


@cache
def _environment(secrets: tuple[str, ...]) -> Environment:
    """Return the templates, compiled once, for values that must not show these secrets."""
    clean = partial(text.cleaned, secrets=secrets)
    environment = Environment(
        loader=PackageLoader("ingest.operations.pages"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=clean,
    )
    environment.filters |= {
        "clean": clean, "duration": text.duration, "millis": to_moment, "moment": text.moment,
        "number": text.number, "rough": text.rough, "size": text.size,
    }  # fmt: skip
    environment.globals |= {"states": STATES, "generator": GENERATOR, "LONG": text.LONG}
    return environment
