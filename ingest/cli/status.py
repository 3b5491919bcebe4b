"""`ingest status`: the state of the tables, and their lag."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.metrics import check_target, publish_status_or_warn
from ingest.cli.offsets import print_offsets
from ingest.cli.old_spellings import warn_of
from ingest.cli.options import EXPERT, Deployment
from ingest.cli.output import (
    claim_stdout,
    print_error,
    print_json,
    print_table,
    print_text,
)
from ingest.cli.page import CommandPage, Json
from ingest.moments import write_duration
from ingest.names import first_few
from ingest.operations.status.health import Health, health, parse_bound
from ingest.report.result import worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.operations.status.status import TableStatus

app = CommandPage(name="status", help_format="markdown")


@app.default
def status(
    *tables: Annotated[str, table_parameter("Tables to show, by name or glob ('crm_*'), by default all.")],
    max_lag: Annotated[
        str | None,
        Parameter(
            help="Limit of the lag: unread offsets (1000), or their age (15m), else [freshness] max_behind."
        ),
    ] = None,
    offsets: Annotated[
        bool,
        Parameter(negative=(), help="Also show the offsets that the next run starts from."),
    ] = False,
    metrics: Annotated[
        str,
        Parameter(group=EXPERT, help="Target of metrics: a .prom file, a folder, or a Pushgateway's URL."),
    ] = "",
    html: Annotated[Path | None, Parameter(show=False)] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show each table's health, last run, verification, commit, rows, open rejects, lag and schemas.

    Exit code 1 if the last run failed or the next one would, if a verification found differences, if a
    connector is silent, or if a table is further behind than its limit. 75 if something did not answer, or
    the last run can be repeated.

    Example: `ingest status --max-lag 15m`
    """
    bound = None if max_lag is None else parse_bound(max_lag)
    check_target(metrics)
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
    found = [(status, health(status, bound)) for status in results]
    publish_status_or_warn(metrics, found)
    if json:
        print_json([{**status.to_json(), "health": it.state, "reason": it.reason} for status, it in found])
    else:
        numbers = ("rows", "rejects", "lag", "behind")
        headings = (
            "table",
            "health",
            "last run",
            "verified",
            "last commit",
            *numbers,
            "log files",
            "schema ids",
            "note",
        )
        rows = [_row(status, it) for status, it in found]
        print_table(headings, rows, right=numbers, elastic=("verified", "schema ids", "note"))
        _show_changes(results)
        _show_warnings(results)
        if offsets:
            print_text()
            print_offsets(results)
    _show_reasons(found)
    return worst(it for _, it in found)


def _show_reasons(found: "Sequence[tuple[TableStatus, Health]]") -> None:
    """Print why tables are not well, each problem of a file on a line, and a common one once."""
    problems, tables = dict[str, None](), dict[str, list[str]]()
    for status, it in found:
        if status.error:
            problems |= dict.fromkeys(map(str, status.error.problems()))
        if it.reason and not (status.error and it.reason == str(status.error)):
            tables.setdefault(it.reason, []).append(status.table)
    for problem in problems:
        print_error(problem)
    for reason, names in tables.items():
        print_error(f"{'table' if len(names) == 1 else 'tables'} {first_few(names)}: {reason}")


def _row(status: "TableStatus", it: Health) -> tuple[object, ...]:
    """Return a table's line. The usual health is left out, and its column if all tables are well."""
    last, run, verification = status.last, status.last_run, status.verification
    return (
        status.table,
        "" if it.state == "ok" else it.state,
        run and f"{_age(run.finished_at)} ago",
        verification and f"{verification.outcome} {_age(verification.finished_at)} ago",
        last and last.instant,
        status.rows,
        status.rejects or None,
        status.lag,
        None if status.source_lag_s is None else write_duration(status.source_lag_s),
        str(status.cost) if status.cost.log_files else None,
        ", ".join(map(str, last.schema_ids)) if last else None,
        last and last.note,
    )


def _age(moment: datetime) -> str:
    return write_duration((datetime.now(UTC) - moment).total_seconds())


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
    """Print each warning once, with the tables that it concerns."""
    tables_by_warning: dict[str, list[str]] = {}
    for status in statuses:
        if status.warning:
            tables_by_warning.setdefault(status.warning, []).append(status.table)
    if tables_by_warning:
        print_text()
    for warning, tables in tables_by_warning.items():
        print_text(f"warning: {first_few(tables)}: {warning}", hanging=2)
