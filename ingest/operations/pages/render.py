"""The pages as text: values of `ingest.operations` in the templates of this package."""

from collections.abc import Collection
from datetime import datetime
from functools import cache, partial
from typing import Any, Final

import attrs
from jinja2 import Environment, PackageLoader, StrictUndefined

from ingest.names import TABLE_PAGES, page_name
from ingest.operations.pages import text
from ingest.operations.pages.draw import BARS, SPARKS, bars
from ingest.operations.status.health import STATES, Bound, State, health
from ingest.operations.status.overview import LakeOverview, TableOverview
from ingest.operations.status.remedies import by_trouble, remedies

SECTIONS: Final = (
    "commits", "verification", "schema", "columns", "offsets", "rejects", "storage", "unread",
)  # fmt: skip
"""The sections of a table's page, in order: each is `templates/sections/<name>.html`, and gets `overview`.

To add one, add its template and its name here, and the value that it shows to `TableOverview`.
"""
GENERATOR: Final = "hudi-cdc-ingest"


@attrs.frozen
class Site:
    """The facts that all pages share."""

    title: str
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
        """Render the page of all tables, sorted by trouble."""
        tables = sorted(lake.tables, key=lambda overview: by_trouble(overview, self.site.bound))
        rows = [
            {
                "overview": overview,
                "state": self.state(overview),
                "page": f"{TABLE_PAGES}/{page_name(overview.status.table)}" if overview.table else "",
                "bars": bars(overview.commits, SPARKS),
            }
            for overview in tables
        ]
        counts = {state: sum(row["state"] == state for row in rows) for state in STATES}
        return self._render("index.html", lake=lake, rows=rows, counts=counts)

    def table(self, overview: TableOverview) -> str:
        """Render the page of one table."""
        return self._render(
            "table.html",
            overview=overview,
            state=self.state(overview),
            remedies=remedies(overview, self.site.bound),
            bars=bars(overview.commits, BARS),
            sections=[f"sections/{name}.html" for name in SECTIONS],
        )

    def state(self, overview: TableOverview) -> State:
        """Return the state of a table."""
        return health(overview.status, self.site.bound).state

    def _render(self, template: str, **values: Any) -> str:
        return self._environment.get_template(template).render(values, site=self.site)


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
        "clean": clean, "duration": text.duration, "moment": text.moment, "number": text.number,
        "size": text.size,
    }  # fmt: skip
    environment.globals |= {"states": STATES, "generator": GENERATOR, "LONG": text.LONG}
    return environment
