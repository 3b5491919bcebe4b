"""`ingest run`: from the committed offsets to the ends seen at the start."""

from collections import Counter
from collections.abc import Callable
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

from cyclopts import Parameter
from cyclopts.validators import Number

from ingest.cli.metrics import check_target, failure_told, publish_or_warn
from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text, show_progress
from ingest.stop import INTERRUPTED, Stop, terminable

if TYPE_CHECKING:
    from ingest.run.report import RunReport, TableOutcome


def run(
    *tables: Annotated[str, Parameter(help="Tables to run; all of them without any.")],
    max_offsets: Annotated[
        int | None, Parameter(help="Offsets to read at the most, per table.", validator=Number(gte=1))
    ] = None,
    report: Annotated[Path | None, Parameter(help="File for the run report, as JSON.")] = None,
    metrics: Annotated[
        str | None,
        Parameter(help="For metrics: a .prom file, a folder, or a Pushgateway's URL ([run] metrics)."),
    ] = None,
    follow: Annotated[
        bool, Parameter(negative="", help="Go on, run after run, until SIGTERM or Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, Parameter(help="Seconds from one run's begin to the next's.", validator=Number(gt=0))
    ] = 10.0,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Bring tables up to the ends that their topics have now, then stop, or go on with `--follow`.

    Each table is one Hudi commit that holds its rows and its offsets. What one table runs into does not
    stop the others. Exit code 0: all done or nothing to do; 1: a table failed, and would again; 75: try
    again. SIGTERM or Ctrl-C lets a table in its commit finish, and abandons the others: 75 or 130.

    With `--follow` runs begin an interval apart, or at once where `--max-offsets` left something; the
    first is told, then each that commits or meets another error. It ends by a signal, or when no table
    is left that trying again could help; the exit code is that of its last run.

    Example: `ingest run server1_dbo_customers --max-offsets 100000 --report run.json`
    """
    if report:
        _make_room(report)
    claim_stdout()
    with terminable(), deployment.open({"run.metrics": metrics}) as session:
        target = session.settings.run.metrics
        check_target(target)

        def run_once(stop: Stop) -> "RunReport":
            with show_progress() as progress, failure_told(target, session, tables):
                result = session.run(tables, max_offsets=max_offsets, progress=progress, stop=stop)
            # first: to close Spark takes time that a stopped process may not have
            if report:
                _write(report, result)
            publish_or_warn(target, result)
            return result

        if follow:
            return _follow(run_once, interval, json=json)
        result = run_once(Stop())
    return _tell(result, json=json)


def _follow(run_once: Callable[[Stop], "RunReport"], interval_s: float, *, json: bool) -> int:
    """Run until stopped, and tell what is new; return the last run's exit code."""
    from ingest.run.follow import follow, is_news  # noqa: PLC0415  light start

    last, code = None, 0
    for result in follow(run_once, interval_s):
        code = _tell(result, json=json) if is_news(result, last) else result.exit_code
        last = result
    return code


def _tell(result: "RunReport", *, json: bool) -> int:
    """Print what a run did; return its exit code."""
    if json:
        print_json(result.to_json())
    else:
        _show(result)
    for outcome in result.tables:
        if outcome.error:
            print_error(str(outcome.error))
        elif outcome.counts.rejected:
            print_error(
                f"warning: {outcome.table}: {outcome.counts.rejected:,} messages could not be applied and "
                f"were set aside; see `ingest rejects list {outcome.table}`"
            )
        if outcome.lost:
            print_error(
                f"warning: {outcome.table}: {outcome.lost:,} rows are null where the source did not send a "
                "value and no older row gave it (a key change with an unchanged large value)"
            )
    return INTERRUPTED if _is_interrupted(result) else result.exit_code


def _is_interrupted(report: "RunReport") -> bool:
    from ingest.errors import StoppedError  # noqa: PLC0415  light start

    errors = (one.error for one in report.tables)
    return any(isinstance(error, StoppedError) and error.signal == "SIGINT" for error in errors)


def _make_room(path: Path) -> None:
    """Make the report's folder, before anything is done that could not be reported."""
    from ingest.errors import UsageError  # noqa: PLC0415  light start

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--report {path}: {error.strerror}: {error.filename}") from None
    if path.is_dir():
        raise UsageError(f"--report {path}: is a folder", "Name a file")


def _write(path: Path, report: "RunReport") -> None:
    from ingest.run.report import write_whole  # noqa: PLC0415  light start

    write_whole(path, dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n")


def _show(report: "RunReport") -> None:
    from ingest.run.report import Outcome  # noqa: PLC0415  light start

    numbers = ("read", "upserted", "deleted", "superseded", "ignored", "rejected", "seconds")
    print_table(("table", "outcome", *numbers), [_row(one) for one in report.tables], right=numbers)
    _show_changes(report)
    print_text()
    outcomes = Counter(one.outcome for one in report.tables)
    seconds = (report.finished_at - report.started_at).total_seconds()
    told = [f"{outcomes[one]:,} {one}" for one in get_args(Outcome) if outcomes[one]]
    print_text(f"{', '.join(told)} in {seconds:.1f} s")


def _row(one: "TableOutcome") -> tuple[object, ...]:
    counts = one.counts
    numbers = (counts.read, counts.upserted, counts.deleted, counts.superseded, sum(counts.ignored.values()))
    return (one.table, one.outcome, *numbers, counts.rejected or None, f"{one.seconds:.1f}")


def _show_changes(report: "RunReport") -> None:
    changes = [
        (one.table, change.column, change.kind, change.was, change.type)
        for one in report.tables
        for change in one.schema_changes
    ]
    if changes:
        print_text()
        print_table(("schema of", "column", "change", "was", "is"), changes, elastic=("was", "is"))
