"""`ingest run`: from the committed offsets to the ends seen at the start."""

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Annotated, get_args

import attrs
from cyclopts import Parameter
from cyclopts.validators import Number

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.metrics import check_target, publish_failure, publish_or_warn
from ingest.cli.notify import notify_or_warn
from ingest.cli.options import EXPERT, Deployment
from ingest.cli.output import (
    announce_stop,
    claim_stdout,
    exit_code_of,
    print_error,
    print_json,
    print_problems,
    print_table,
    print_text,
)
from ingest.cli.page import CommandPage, Json
from ingest.cli.report_file import prepare_report, write_report
from ingest.report.contract import Outcome
from ingest.run import follow as following
from ingest.stop import Stop, terminable

if TYPE_CHECKING:
    from ingest.report.outcome import RunReport, TableOutcome

app = CommandPage(name="run", help_format="markdown")


@app.default
def run(
    *tables: Annotated[str, table_parameter("Tables to run, by name or glob ('crm_*'), by default all.")],
    max_offsets: Annotated[
        int | None,
        Parameter(help="Offsets to read per table at most, by default all.", validator=Number(gte=1)),
    ] = None,
    report: Annotated[
        str | None, Parameter(help="File or Hadoop path (hdfs://…) for the run report, as JSON.")
    ] = None,
    metrics: Annotated[
        str | None,
        Parameter(
            group=EXPERT,
            help="Target of metrics: a .prom file, a folder, or a Pushgateway's URL (else [run] metrics).",
        ),
    ] = None,
    follow: Annotated[
        bool, Parameter(negative="", help="Start run after run, until SIGTERM or Ctrl-C.")
    ] = False,
    interval: Annotated[
        float, Parameter(help="Seconds from the start of one run to the next.", validator=Number(gt=0))
    ] = 10.0,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Bring tables up to the current ends of their topics, then stop, or keep following with `--follow`.

    Each table is one Hudi commit that holds its rows and its offsets. An error in one table does not stop
    the others. Exit code 0: all done or nothing to do. 1: a table failed, and would fail again. 75: try
    again. On SIGTERM or Ctrl-C a table finishes its commit if it has begun, and the others stop: 75 or 130.
    A second signal ends the process at once, and the next run rolls an unfinished commit back.

    With `--follow` runs start an interval apart, or immediately when `--max-offsets` left messages unread.
    A table with more than 100,000 messages to read does not hold up the others: its outcome appears in the
    run during which it ends. Prints the first run, then every run that commits or fails differently. Ends
    on a signal, or when every table fails permanently. The exit code is the last run's.

    Example: `ingest run server1_dbo_customers --max-offsets 100000 --report run.json`
    """
    prepare_report(report)
    claim_stdout()
    with terminable(), deployment.open({"run.metrics": metrics}) as session:
        target = session.settings.run.metrics
        check_target(target)

        def run_once(stop: Stop) -> "RunReport":
            stop.on_signal = partial(announce_stop, grace_s=session.settings.run.stop_grace_s)
            with (
                show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
                publish_failure(target, session, tables),
            ):
                result = session.run(tables, max_offsets=max_offsets, progress=progress, stop=stop)
            # Before Spark closes: that takes time which a stopped process may not get.
            write_report(report, result.to_json(), session)
            publish_or_warn(target, result)
            notify_or_warn(session.settings, result)
            return result

        if follow:
            return _follow(run_once, interval, json=json)
        result = run_once(Stop())
    return _print(result, json=json)


def _follow(run_once: following.RunOnce, interval_s: float, *, json: bool) -> int:
    """Run until stopped, print each run that brings news, and return the last run's exit code."""
    news, code = following.News(), 0
    for result in following.follow(run_once, interval_s):
        code = _print(result, json=json) if news.has(result) else exit_code_of(result.tables)
    return code


def _print(result: "RunReport", *, json: bool) -> int:
    """Print the report of a run, and return its exit code."""
    if json:
        print_json(result.to_json())
    else:
        _show(result)
    for outcome in result.tables:
        _print_problems(outcome)
    return exit_code_of(result.tables)


def _print_problems(outcome: "TableOutcome") -> None:
    for topic in outcome.topics:
        _print_problems(topic)
    if outcome.topics:
        return
    if outcome.error:
        print_problems(outcome.error)
    elif outcome.counts.rejected:
        print_error(
            f"warning: {outcome.table}: {outcome.counts.rejected:,} messages could not be applied and were "
            f"written to the rejects table; see `ingest rejects list {outcome.table}`"
        )
    if outcome.lost:
        print_error(
            f"warning: {outcome.table}: {outcome.lost:,} rows are null where the source did not send a "
            "value and no older row had it (a key change with an unchanged large value); "
            f"`ingest verify {outcome.table} --repair` asks the connector for them"
        )


def _show(report: "RunReport") -> None:
    numbers = ("read", "upserted", "deleted", "superseded", "ignored", "rejected", "seconds")
    rows = [row for outcome in report.tables for row in _rows(outcome)]
    print_table(("table", "outcome", *numbers), rows, right=numbers)
    _show_changes(report)
    print_text()
    counts = Counter(outcome.outcome for outcome in report.tables)
    seconds = (report.finished_at - report.started_at).total_seconds()
    summary = [f"{counts[outcome]:,} {outcome}" for outcome in get_args(Outcome) if counts[outcome]]
    print_text(f"{', '.join(summary)} in {seconds:.1f} s")


def _rows(outcome: "TableOutcome") -> list[tuple[object, ...]]:
    """Return a table's line, and one for each of its topics if they are several."""
    topics = [attrs.evolve(topic, table=f"  {topic.topic}") for topic in outcome.topics]
    return [_row(line) for line in (outcome, *topics)]


def _row(outcome: "TableOutcome") -> tuple[object, ...]:
    counts = outcome.counts
    numbers = (counts.read, counts.upserted, counts.deleted, counts.superseded, sum(counts.ignored.values()))
    return (outcome.table, outcome.outcome, *numbers, counts.rejected or None, f"{outcome.seconds:.1f}")


def _show_changes(report: "RunReport") -> None:
    changes = [
        (outcome.table, change.column, change.kind, change.was, change.type)
        for outcome in report.tables
        for change in outcome.schema_changes
    ]
    if changes:
        print_text()
        print_table(("schema of", "column", "change", "was", "is"), changes, elastic=("was", "is"))
