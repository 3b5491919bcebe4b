"""`ingest check`: tables by their own files."""

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import (
    claim_stdout,
    exit_code_of,
    print_error,
    print_json,
    print_problems,
    print_table,
)
from ingest.cli.page import CommandPage, Json

if TYPE_CHECKING:
    from ingest.operations.verify_files import FilesCheck

app = CommandPage(name="check", help_format="markdown")
FINDINGS: Final = 10
"""How many findings of a table are printed as text."""

_OLD_FOOTERS: Final = (
    "{count:,} of its files do not name the version of Spark. A Spark session with default settings refuses "
    "dates before 1582-10-15 and timestamps before 1900 in them. The next change of a file mends it. Until "
    "then readers set spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED."
)


@app.default
def check(
    *tables: Annotated[str, table_parameter("Tables to check, by name or glob ('crm_*'), by default all.")],
    no_keys: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Do not read the rows. Starts no JVM where the files answer.",
        ),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Check tables by their own files: no file is missing, no offset is skipped, each key is once.

    Needs no source, broker or registry. `ingest verify` compares tables with their sources.

    Exit code 0: sound. 1: damaged, or failed. 75: could not be read, try again.

    Example: `ingest check orders --no-keys`
    """
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        results = session.verify_files(tables, reads_keys=not no_keys, progress=progress)
    if json:
        print_json([result.to_json() for result in results])
    else:
        numbers = ("commits", "files", "bytes", "rows", "findings")
        rows = [_row(result) for result in results]
        print_table(("table", "outcome", "last commit", *numbers), rows, right=numbers)
    for result in results:
        _print_findings(result)
    return exit_code_of(results)


def _row(result: "FilesCheck") -> tuple[object, ...]:
    return (
        result.table,
        result.outcome,
        result.last and result.last.instant,
        result.commits,
        result.inventory.files,
        result.inventory.size,
        result.rows,
        len(result.findings) or None,
    )


def _print_findings(result: "FilesCheck") -> None:
    for finding in result.findings[:FINDINGS]:
        print_error(f"table {result.table}: {finding}")
    if result.old_footers:
        print_error(f"table {result.table}: {_OLD_FOOTERS.format(count=result.old_footers)}")
    rest = len(result.findings) - FINDINGS
    if rest > 0:
        print_error(f"table {result.table}: {rest:,} further findings, in the output of --json")
    if result.error:
        print_problems(result.error)
