"""`ingest maintain`: compaction, cleaning and archiving of tables, apart from their runs."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_table, print_text, show_errors
from ingest.cli.page import CommandPage, Json
from ingest.cli.report_file import prepare_report, write_report
from ingest.stop import Stop, terminable

if TYPE_CHECKING:
    from ingest.operations.maintain import Maintenance

app = CommandPage(name="maintain", help_format="markdown")
MEGABYTE = 1_000_000


@app.default
def maintain(
    *tables: Annotated[
        str, table_parameter("Tables to maintain, by name or glob ('crm_*'), by default all.")
    ],
    dry_run: Annotated[bool, Parameter(negative="", help="Show what is to do, and write nothing.")] = False,
    report: Annotated[
        str | None, Parameter(help="File or Hadoop path (hdfs://…) for the report, as JSON.")
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Compact log files, remove old versions of files, and archive old commits. No row changes.

    With `[run] upkeep = "inline"`, the default, runs do this after their commits when it is due, and this
    command does the rest of it. With `upkeep = "maintain"` only this command does it, so give it a schedule.
    It takes each table's lock, so that a run of the table waits or ends with 75. If it is killed, the next
    one, or the next run with `inline`, finishes its work.

    Exit code 0: done or nothing to do. 1: a table failed, and would fail again. 75: try again.

    Example: `ingest maintain server1_dbo_customers --dry-run`
    """
    prepare_report(report)
    claim_stdout()
    with terminable(), deployment.open() as session:
        with show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress:
            result = session.maintain(tables, dry_run=dry_run, progress=progress, stop=Stop())
        write_report(report, result.to_json(), session)
    return _print(result, json=json)


def _print(result: "Maintenance", *, json: bool) -> int:
    """Print the result, and return its exit code."""
    if json:
        print_json(result.to_json())
    else:
        _show(result)
    return show_errors(result.tables)


def _show(result: "Maintenance") -> None:
    content = result.report()
    numbers = ("log files", "MB compacted", "files removed", "MB freed", "commits archived", "seconds")
    rows = [
        (
            table.table, table.outcome,
            table.compacted_log_files, f"{table.compacted_bytes / MEGABYTE:.1f}",
            table.removed_files, f"{table.freed_bytes / MEGABYTE:.1f}",
            table.archived_commits, f"{table.seconds:.1f}",
        )
        for table in content.tables
    ]  # fmt: skip
    print_table(("table", "outcome", *numbers), rows, right=numbers)
    if content.dry_run:
        print_text()
        print_text("Dry run: nothing was written")
