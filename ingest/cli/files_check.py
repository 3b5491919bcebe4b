"""`ingest verify --files`: the results as text or JSON."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Final

import attrs
from cyclopts import Group, Parameter

from ingest.cli.display import show_progress
from ingest.cli.output import exit_code_of, print_error, print_json, print_problems, print_table
from ingest.errors import UsageError

if TYPE_CHECKING:
    from ingest.api.session import Session
    from ingest.operations.verify_files import FilesCheck

_GROUP: Final = Group("Without a source", sort_key=75)
FINDINGS: Final = 10
"""How many findings of a table are printed as text."""

_OLD_FOOTERS: Final = (
    "{count:,} of its files do not name the version of Spark. A Spark session with default settings refuses "
    "dates before 1582-10-15 and timestamps before 1900 in them. The next change of a file mends it. Until "
    "then readers set spark.sql.parquet.datetimeRebaseModeInRead = CORRECTED."
)


def _flag(text: str) -> Parameter:
    return Parameter(help=text, group=_GROUP, show_default=False, negative=())


@Parameter(name="*")
@attrs.frozen
class ByFiles:
    """Whether tables are checked by themselves, and how far."""

    files: Annotated[
        bool, _flag("Check the table by itself: files, offsets and keys. No source, broker or registry.")
    ] = False
    no_keys: Annotated[
        bool, _flag("With --files: do not read the rows. Starts no JVM where the files answer.")
    ] = False

    def check(self, *, is_plain: bool) -> None:
        """Raise `UsageError` for options of the other kind of check. `is_plain` is true without any."""
        if self.files and not is_plain:
            todo = "Leave out the options of a comparison with the source"
            raise UsageError("--files checks a table by itself", todo)
        if self.no_keys and not self.files:
            raise UsageError("--no-keys belongs to --files", "Give both")


def verify_by_files(session: "Session", tables: Sequence[str], by_files: ByFiles, *, as_json: bool) -> int:
    """Check tables by themselves, print the results, and return the exit code."""
    with show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress:
        results = session.verify_files(tables, reads_keys=not by_files.no_keys, progress=progress)
    if as_json:
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
