"""`ingest status`: what the tables hold, and how far behind they are."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text

if TYPE_CHECKING:
    from ingest.operations.offsets import TableStatus


def status(
    *tables: Annotated[str, Parameter(help="Tables to show; all of them without any.")],
    max_lag: Annotated[
        str | None, Parameter(help="Exit with 1 past it: offsets (1000), or source time (15m).")
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show each table's last commit, rows, open rejects, lag in offsets and in source time, and schemas.

    Exit code 1 where a run would fail, and for a table that is further behind than `--max-lag`.

    Example: `ingest status --max-lag 15m`
    """
    from ingest.operations.health import health, parse_bound  # noqa: PLC0415  light start

    bound = None if max_lag is None else parse_bound(max_lag)
    claim_stdout()
    with deployment.open() as session:
        found = session.status(tables)
    if json:
        print_json([{**one.to_json(), "health": health(one, bound)} for one in found])
    else:
        rows = [
            (
                one.table,
                _unless_ok(health(one, bound)),
                one.last and one.last.instant,
                one.rows,
                one.rejects or None,
                one.lag,
                _duration(one.source_lag_s),
                ", ".join(str(i) for i in one.last.schema_ids) if one.last else None,
                one.last and one.last.note,
            )
            for one in found
        ]
        numbers = ("rows", "rejects", "lag", "behind")
        headings = ("table", "health", "last commit", *numbers, "schema ids", "note")
        print_table(headings, rows, right=numbers, elastic=("schema ids", "note"))
        _show_changes(found)
    for one in found:
        if one.error:
            print_error(one.error)
        elif bound is not None and (problem := bound.problem(one)):
            print_error(f"table {one.table}: {problem}")
    return int(any(health(one, bound) in ("failing", "behind") for one in found))


def _unless_ok(word: str) -> str:
    """Leave the usual out: where all tables are well, the column is."""
    return "" if word == "ok" else word


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
