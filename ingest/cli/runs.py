"""`ingest runs`: the last runs, and the report of one."""

from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Final, get_args

from cyclopts import Parameter
from cyclopts.validators import Number

from ingest.cli.options import Deployment
from ingest.cli.output import print_error, print_json, print_table, print_text
from ingest.cli.page import CommandPage, Json
from ingest.moments import write_duration
from ingest.report.contract import Outcome

if TYPE_CHECKING:
    from ingest.report.contract import Report

app = CommandPage(name="runs", help_format="markdown")
SHORT: Final = 8
"""Characters of an id in the list."""


@app.default
def runs(
    run_id: Annotated[
        str, Parameter(help="The run to print, by the beginning of its id. By default the list.")
    ] = "",
    /,
    *,
    last: Annotated[int, Parameter(help="Number of runs to list.", validator=Number(gte=1))] = 20,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """List the last runs of the deployment with their outcomes, newest first, or print the report of one.

    The reports of `ingest run` are in the folder `[run] state`, at most `[run] keep_runs` of them. Runs of
    `--follow` that bring nothing new are kept as one.

    Example: `ingest runs --last 5`
    """
    with deployment.open() as session:
        if run_id:
            _show_run(session.kept_run(run_id), json=json)
            return 0
        reports = list(islice(session.runs(), last))
    if json:
        print_json([_summary(report) for report in reports])
    else:
        _show_list(reports)
    return 0


def _show_list(reports: "list[Report]") -> None:
    if not reports:
        print_text("No run is kept yet.")
        return
    rows = [
        (f"{report.started_at:%Y-%m-%d %H:%M:%S}", report.run_id[:SHORT], report.outcome,
         write_duration(_seconds(report)), _counts(report), next(iter(_errors(report)), ""))
        for report in reports
    ]  # fmt: skip
    headings = ("started (UTC)", "run", "outcome", "took", "tables", "error")
    print_table(headings, rows, right=("took",), elastic=("tables", "error"))


def _show_run(report: "Report", *, json: bool) -> None:
    """Print a report: as JSON all of it, else a line per table, and the errors on standard error."""
    if json:
        print_json(report.to_json())
        return
    print_text(
        f"run {report.run_id}: {report.outcome} in {write_duration(_seconds(report))}, "
        f"from {report.started_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    print_text()
    numbers = ("read", "upserted", "deleted", "rejected", "seconds")
    rows = [
        (table.table, table.outcome, table.read, table.applied.upserted, table.applied.deleted,
         table.rejected or None, f"{table.seconds:.1f}", table.instant)
        for table in report.tables
    ]  # fmt: skip
    print_table(("table", "outcome", *numbers, "commit"), rows, right=numbers)
    for error in _errors(report):
        print_error(error)


def _summary(report: "Report") -> dict[str, object]:
    """Return a run without its tables, as JSON."""
    whole = report.to_json()
    outcomes = Counter(table.outcome for table in report.tables)
    return {
        **{name: whole[name] for name in ("run_id", "started_at", "finished_at", "outcome")},
        "seconds": round(_seconds(report), 3),
        "tables": {outcome: outcomes[outcome] for outcome in get_args(Outcome) if outcomes[outcome]},
        "errors": _errors(report),
    }


def _seconds(report: "Report") -> float:
    return (report.finished_at - report.started_at).total_seconds()


def _counts(report: "Report") -> str:
    outcomes = Counter(table.outcome for table in report.tables)
    return ", ".join(f"{outcomes[name]:,} {name}" for name in get_args(Outcome) if outcomes[name])


def _errors(report: "Report") -> list[str]:
    """Return the different errors of the tables, in the tables' order."""
    return list(dict.fromkeys(table.error for table in report.tables if table.error))
