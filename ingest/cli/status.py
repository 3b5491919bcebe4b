"""`ingest status`: the state of the tables, and their lag."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.offsets import print_offsets
from ingest.cli.old_spellings import warn_of
from ingest.cli.options import Deployment
from ingest.cli.output import (
    claim_stdout,
    exit_code_of,
    print_error,
    print_json,
    print_problems,
    print_table,
    print_text,
)
from ingest.cli.page import CommandPage, Json
from ingest.moments import write_duration
from ingest.operations.status.health import Bound, health, parse_bound

if TYPE_CHECKING:
    from ingest.operations.status.status import TableStatus

app = CommandPage(name="status", help_format="markdown")


@app.default
def status(
    *tables: Annotated[str, table_parameter("Tables to show, by name or glob ('crm_*'), by default all.")],
    max_lag: Annotated[
        str | None, Parameter(help="Exit with 1 beyond this lag: offsets (1000), or source time (15m).")
    ] = None,
    offsets: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, help="Also show the offsets that the next run starts from."
        ),
    ] = False,
    html: Annotated[Path | None, Parameter(show=False)] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show each table's last commit, rows, open rejects, lag in offsets and in source time, and schemas.

    Exit code 1 if a run would fail, or if a table is further behind than `--max-lag`. 75 if something
    could not be reached.

    Example: `ingest status --max-lag 15m`
    """
    bound = None if max_lag is None else parse_bound(max_lag)
    if html is not None:
        warn_of("status --html", "pages --to")
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        if html is not None:  # before an error of the broker or of a table file
            session.report_html(html, tables, max_lag=max_lag, progress=progress)
        results = session.status(tables, progress=progress)
    if json:
        print_json([{**status.to_json(), "health": health(status, bound)} for status in results])
    else:
        numbers = ("rows", "rejects", "lag", "behind")
        headings = ("table", "health", "last commit", *numbers, "schema ids", "note")
        rows = [_row(status, bound) for status in results]
        print_table(headings, rows, right=numbers, elastic=("schema ids", "note"))
        _show_changes(results)
        _show_warnings(results)
        if offsets:
            print_text()
            print_offsets(results)
    for status in results:
        if status.error:
            print_problems(status.error)
        elif bound is not None and (problem := bound.problem(status)):
            print_error(f"table {status.table}: {problem}")
    if any(health(status, bound) == "behind" for status in results):
        return 1
    return exit_code_of(results)


def _row(status: "TableStatus", bound: Bound | None) -> tuple[object, ...]:
    """Return a table's line. The usual health is left out, and its column if all tables are well."""
    word = health(status, bound)
    last = status.last
    return (
        status.table,
        "" if word == "ok" else word,
        last and last.instant,
        status.rows,
        status.rejects or None,
        status.lag,
        None if status.source_lag_s is None else write_duration(status.source_lag_s),
        ", ".join(map(str, last.schema_ids)) if last else None,
        last and last.note,
    )


def _show_changes(statuses: "tuple[TableStatus, ...]") -> None:
    """Print the schema changes at the source, if the table file names their topic."""
    changes = [
        (status.table, f"{change.at:%Y-%m-%d %H:%M}", change.kind, change.ddl or ", ".join(change.columns))
        for status in statuses
        for change in status.changes
    ]
    if changes:
        print_text()
        headings = ("changed at the source", "at", "kind", "statement, or columns")
        print_table(headings, changes, elastic=("statement, or columns",))


def _show_warnings(statuses: "tuple[TableStatus, ...]") -> None:
    warnings = [f"{status.table}: {status.warning}" for status in statuses if status.warning]
    if warnings:
        print_text()
    for warning in warnings:
        print_text(f"warning: {warning}", hanging=2)
