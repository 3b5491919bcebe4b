"""`ingest run`: from the committed offsets to the ends seen at the start."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text, show_progress

if TYPE_CHECKING:
    from ingest.run.report import RunReport, TableOutcome


def run(
    *tables: Annotated[str, Parameter(help="Tables to run; all of them without any.")],
    max_offsets: Annotated[int | None, Parameter(help="Offsets to read at the most, per table.")] = None,
    report: Annotated[Path | None, Parameter(help="File for the run report, as JSON.")] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Bring tables up to the ends that their topics have now, then stop.

    Each table is one Hudi commit that holds its rows and its offsets. What one table runs into does not
    stop the others. Exit code 0: all done or nothing to do; 1: a table failed, and would again; 75: try
    again.

    Example: `ingest run server1_dbo_customers --max-offsets 100000 --report run.json`
    """
    claim_stdout()
    with deployment.open() as session, show_progress() as progress:
        result = session.run(tables, max_offsets=max_offsets, progress=progress)
    if report:
        _write(report, result)
    if json:
        print_json(result.to_json())
    else:
        _show(result)
    for outcome in result.tables:
        if outcome.error:
            print_error(str(outcome.error))
    return result.exit_code


def _write(path: Path, report: "RunReport") -> None:
    """Write the report in one move, so that nobody reads half of it."""
    from json import dumps  # noqa: PLC0415  the flag has the module's name

    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.tmp")
    scratch.write_text(dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    scratch.replace(path)


def _show(report: "RunReport") -> None:
    numbers = ("read", "upserted", "deleted", "superseded", "ignored", "s")
    rows = [_row(outcome) for outcome in report.tables]
    print_table(("table", "outcome", *numbers, "schema changes"), rows, right=numbers)
    done = sum(outcome.outcome == "committed" for outcome in report.tables)
    idle = sum(outcome.outcome == "idle" for outcome in report.tables)
    others = len(report.tables) - done - idle
    failed = f", {others} failed" if others else ""
    seconds = (report.finished_at - report.started_at).total_seconds()
    print_text(f"{done} committed, {idle} idle{failed} in {seconds:.1f} s")


def _row(outcome: "TableOutcome") -> tuple[object, ...]:
    tally = outcome.tally
    changes = "; ".join(
        f"+{change.column} {change.type}"
        if not change.was
        else f"{change.column} {change.was} -> {change.type}"
        for change in outcome.schema_changes
    )
    return (
        outcome.table,
        outcome.outcome,
        tally.read,
        tally.upserted,
        tally.deleted,
        tally.superseded,
        sum(tally.ignored.values()),
        f"{outcome.seconds:.1f}",
        changes,
    )
