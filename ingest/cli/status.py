"""`ingest status`: what the tables hold, and how far behind they are."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text

if TYPE_CHECKING:
    from ingest.run.offsets import TableStatus


def status(
    *tables: Annotated[str, Parameter(help="Tables to show; all of them without any.")],
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show each table's last commit, rows, open rejects, lag in offsets and in source time, and schemas.

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
                one.rejects or None,
                one.lag,
                _duration(one.source_lag_s),
                ", ".join(str(i) for i in one.last.schema_ids) if one.last else None,
                one.last.note if one.last else "not run yet",
            )
            for one in found
        ]
        headings = ("table", "last commit", "rows", "rejects", "lag", "behind", "schema ids", "note")
        numbers = ("rows", "rejects", "lag", "behind")
        print_table(headings, rows, right=numbers, elastic=("schema ids", "note"))
        _show_changes(found)
    for one in found:
        if one.error:
            print_error(one.error)
    return 1 if any(one.error for one in found) else 0


def _show_changes(found: "tuple[TableStatus, ...]") -> None:
    """Print the schema changes at the source, of tables whose files name their topic."""
    changes = [
        (one.table, f"{change.at:%Y-%m-%d %H:%M}", change.kind, change.ddl or ", ".join(change.columns))
        for one in found
        for change in one.changes
    ]
    if changes:
        print_text()
        headings = ("changed at the source", "at", "kind", "statement, or columns")
        print_table(headings, changes, elastic=("statement, or columns",))


def _duration(seconds: float | None) -> str | None:
    """Write a lag in its largest unit."""
    if seconds is None:
        return None
    sizes = ((86_400, "d"), (3_600, "h"), (60, "min"))
    return next(
        (f"{seconds / size:.1f} {unit}" for size, unit in sizes if seconds >= size), f"{seconds:.0f} s"
    )
