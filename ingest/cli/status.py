"""`ingest status`: what the tables hold, and how far behind they are."""

from typing import Annotated

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_table


def status(
    *tables: Annotated[str, Parameter(help="Tables to show; all of them without any.")],
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show each table's last commit, its rows, its lag in offsets and in source time, and its schemas.

    Example: `ingest status --json`
    """
    claim_stdout()
    with deployment.open() as session:
        found = session.status(tables)
    if json:
        print_json([one.to_json() for one in found])
    else:
        rows = [
            (
                one.table,
                one.last and one.last.instant,
                one.rows,
                one.lag,
                _duration(one.source_lag_s),
                ", ".join(str(i) for i in one.last.schema_ids) if one.last else None,
                one.last.note if one.last else "not run yet",
            )
            for one in found
        ]
        headings = ("table", "last commit", "rows", "lag", "behind", "schema ids", "note")
        print_table(headings, rows, right=("rows", "lag", "behind"), elastic=("schema ids", "note"))
    for one in found:
        if one.error:
            print_error(one.error)
    return 1 if any(one.error for one in found) else 0


def _duration(seconds: float | None) -> str | None:
    """Write a lag in its largest unit."""
    if seconds is None:
        return None
    sizes = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next(
        (f"{seconds / size:.1f} {unit}" for size, unit in sizes if seconds >= size), f"{seconds:.0f} s"
    )
