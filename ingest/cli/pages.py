"""`ingest pages`: static pages of the tables."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_text
from ingest.cli.page import CommandPage, Json
from ingest.operations.status.health import STATES, Bound, health, parse_bound

if TYPE_CHECKING:
    from ingest.operations.status.overview import LakeOverview

app = CommandPage(name="pages", help_format="markdown")


@app.default
def pages(
    *tables: Annotated[str, table_parameter("Tables to show, by name or glob ('crm_*'), by default all.")],
    to: Annotated[Path, Parameter(help="Folder for the pages: index.html, and a page per table.")],
    max_lag: Annotated[
        str | None,
        Parameter(
            help="Limit of the lag: unread offsets (1000), or their age (15m), else [freshness] max_behind."
        ),
    ] = None,
    spark: Annotated[
        bool,
        Parameter(negative=(), help="Start Spark for the parts that need it."),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Write static pages: all tables sorted by trouble, and a page per table. They need no network.

    Reads the files of the tables, without Spark. A page says which parts are missing. Exit code 0 even if
    tables are in trouble: `ingest status` has exit codes for that.

    Example: `ingest pages --to /srv/www/ingest --max-lag 15m`
    """
    bound = None if max_lag is None else parse_bound(max_lag)
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        lake = session.report_html(to, tables, max_lag=max_lag, with_spark=spark, progress=progress)
    print_pages(to, lake, bound, as_json=json)
    return 0


def print_pages(folder: Path, lake: "LakeOverview", bound: Bound | None, *, as_json: bool = False) -> None:
    """Print the index, and the number of tables in each state."""
    states = Counter(health(overview.status, bound).state for overview in lake.tables)
    counts = {state: states[state] for state in STATES if states[state]}
    index = str(folder / "index.html")
    if as_json:
        print_json({"index": index, "tables": len(lake.tables), "states": counts})
        return
    words = ", ".join(f"{count:,} {state}" for state, count in counts.items())
    print_text(f"{index}: {len(lake.tables):,} tables: {words}", hanging=2)
