"""`ingest verify`: compare tables with their sources."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Literal

import attrs
from cyclopts import Group, Parameter
from cyclopts.validators import Number

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.metrics import check_target, publish_verification_or_warn, verification_target
from ingest.cli.notify import notify_verification_or_warn
from ingest.cli.options import EXPERT, Deployment
from ingest.cli.output import (
    claim_stdout,
    exit_code_of,
    print_json,
    print_page,
    print_problems,
    print_table,
    print_text,
)
from ingest.cli.page import CommandPage, Json
from ingest.cli.report_file import prepare_report, write_report
from ingest.errors import UsageError
from ingest.names import first_few
from ingest.verify import task as verifying

if TYPE_CHECKING:
    from ingest.verify.repair import Repair
    from ingest.verify.result import RowDifference, TableVerification, Verification
    from ingest.verify.task import VerifyRequest

app = CommandPage(name="verify", help_format="markdown")

_MODE = Group("Mode", sort_key=70)
_ROWS = Group("Rows and columns", sort_key=75)
_REPAIR = Group("Repair", sort_key=80)


def _flag(group: Group, text: str) -> Parameter:
    return Parameter(help=text, group=group, negative=())


@Parameter(name="*")
@attrs.frozen
class Modes:
    """How much to compare, and how the table follows its source."""

    counts: Annotated[bool, _flag(_MODE, "Compare only the number of rows.")] = False
    keys: Annotated[bool, _flag(_MODE, "Compare only which keys there are.")] = False
    full: Annotated[bool, _flag(_MODE, "Compare every value itself, not checksums: slower.")] = False
    as_is: Annotated[
        bool, _flag(EXPERT, "Compare the table as it is: do not run it, do not look again at what differs.")
    ] = False
    wait: Annotated[
        float | None,
        Parameter(
            help="Do not run the table: wait this many seconds for a run by another process.", group=EXPERT,
            validator=Number(gte=0),
        ),
    ] = None  # fmt: skip

    def mode(self) -> Literal["counts", "keys", "checksums", "full"]:
        """Return the mode.  Raises `UsageError` for several."""
        modes: dict[Literal["counts", "keys", "full"], bool] = {
            "counts": self.counts,
            "keys": self.keys,
            "full": self.full,
        }
        given = [mode for mode, is_given in modes.items() if is_given]
        if len(given) > 1:
            raise UsageError(f"--{given[0]} excludes --{given[1]}", "Give only one of them")
        return given[0] if given else "checksums"

    def following(self) -> Literal["run", "wait", "as-is"]:
        """Return how the table follows.  Raises `UsageError` for several."""
        if self.as_is and self.wait is not None:
            raise UsageError("--as-is excludes --wait", "Give only one of them")
        return "as-is" if self.as_is else "run" if self.wait is None else "wait"


@Parameter(name="*")
@attrs.frozen
class Extent:
    """The rows and columns to compare, and those to show."""

    columns: Annotated[str | None, _flag(_ROWS, "Columns to compare, comma separated, by default all.")] = (
        None
    )
    where: Annotated[
        str | None, _flag(_ROWS, "Condition of the rows, in SQL that the source and Spark both accept.")
    ] = None
    sample: Annotated[
        str | None, _flag(_ROWS, "Share of the keys, such as 1%, always the same ones. By default all.")
    ] = None
    parallel: Annotated[
        int | None,
        Parameter(
            help="Queries of the source at a time (else [sources.NAME] parallel).", group=EXPERT,
            validator=Number(gte=1),
        ),
    ] = None  # fmt: skip
    first: Annotated[
        int,
        Parameter(help="Keys that differ to show at most.", group=_ROWS, validator=Number(gte=0, lte=10_000)),
    ] = 10
    show_values: Annotated[bool, _flag(_ROWS, "Show the values that differ, too.")] = False

    resume: Annotated[
        bool,
        _flag(EXPERT, "Continue an interrupted comparison of the last 24 hours: keep its finished chunks."),
    ] = False

    def percent(self) -> float:
        """Return the share of the keys.  Raises `UsageError`."""
        text = (self.sample or "100%").strip()
        try:
            percent = float(text.removesuffix("%"))
        except ValueError:
            percent = 0.0
        if not (text.endswith("%") and 0 < percent <= 100):  # noqa: PLR2004  percent
            raise UsageError(f"--sample {self.sample}: is not a share", "Give more than 0% and at most 100%")
        return percent


@Parameter(name="*")
@attrs.frozen
class Repairing:
    """Repair rows that differ."""

    repair: Annotated[
        bool, _flag(_REPAIR, "Print statements that ask the connector for the missing and different rows.")
    ] = False
    execute: Annotated[
        bool, _flag(_REPAIR, "Run these statements in the source, wait for the rows, and compare again.")
    ] = False
    delete_extra: Annotated[
        bool, _flag(_REPAIR, "Delete rows that the source does not have, in a separate commit.")
    ] = False

    def kind(self) -> "Repair | None":
        """Return the kind of repair.  Raises `UsageError` for one that is not whole."""
        if self.execute and not self.repair:
            raise UsageError("--execute needs --repair", "Give both")
        return "execute" if self.execute else "print" if self.repair else None


@app.default
def verify(
    *tables: Annotated[str, table_parameter("Tables to compare, by name or glob, by default all.")],
    modes: Modes = Modes(),
    extent: Extent = Extent(),
    repairing: Repairing = Repairing(),
    report: Annotated[
        str | None, Parameter(help="File or Hadoop path (hdfs://…) for the answer, as JSON.")
    ] = None,
    metrics: Annotated[
        str,
        Parameter(
            group=EXPERT,
            help="Target of metrics: a .prom file, a folder, or a Pushgateway's URL (else [run] metrics).",
        ),
    ] = "",
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Compare tables with their sources, cell by cell, while both change.

    Computes checksums of chunks in the source (`[sources.NAME]`) and in the lake, and compares rows only
    if these differ. A row that differs is looked at again after the connector has delivered its changes. It
    counts only if it is unchanged on both sides and still differs. Nothing is locked or stopped.

    `ingest check` checks tables without their sources.

    Exit code 0: equal. 1: different, or failed. 75: undecided, try again.

    Example: `ingest verify server1_dbo_customers --show-values`
    """
    request = _request(modes, extent, repairing)
    prepare_report(report)
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        target = verification_target(metrics, session.settings.run.metrics)
        check_target(target)
        result = session.verify(tables, request, progress=progress)
        write_report(report, result.to_json(), session)
        publish_verification_or_warn(target, result)
        notify_verification_or_warn(session.settings, result, session.valid_tables(tables)[0])
    if json:
        print_json(result.to_json())
    else:
        show(result)
    for table in result.tables:
        for answer in table.topics or (table,):
            if answer.error:
                print_problems(answer.error)
    return exit_code_of(result.tables)


def _request(modes: Modes, extent: Extent, repairing: Repairing) -> "VerifyRequest":
    columns = [name.strip() for name in (extent.columns or "").split(",")]
    return verifying.VerifyRequest(
        mode=modes.mode(),
        columns=tuple(filter(None, columns)),
        where=extent.where or "",
        sample_percent=extent.percent(),
        following=modes.following(),
        lake_wait_s=600.0 if modes.wait is None else modes.wait,
        first=extent.first,
        shows_values=extent.show_values,
        repair=repairing.kind(),
        delete_extra=repairing.delete_extra,
        resume=extent.resume,
        parallel=extent.parallel,
    )


def show(result: "Verification") -> None:
    """Print the answers, then the rows that differ."""
    numbers = (
        "source",
        "in table",
        "equal",
        "missing",
        "extra",
        "doubled",
        "different",
        "in flight",
        "seconds",
    )
    answers = [answer for table in result.tables for answer in (table, *table.topics)]
    print_table(("table", "outcome", *numbers), [_row(answer) for answer in answers], right=numbers)
    for table in result.tables:
        _show_table(table)
    print_text()
    outcomes = Counter(table.outcome for table in result.tables)
    seconds = (result.finished_at - result.started_at).total_seconds()
    skipped = [f"{table.table}.{name}" for table in result.tables for name in table.uncompared]
    text = ", ".join(f"{n:,} {outcome}" for outcome, n in outcomes.items())
    columns = (
        f", without {len(skipped):,} columns that are not compared ({first_few(skipped)})" if skipped else ""
    )
    print_text(f"{text}{columns} in {seconds:.1f} s")


def _row(table: "TableVerification") -> tuple[object, ...]:
    counts = [table.counts.get(name) for name in ("missing", "extra", "doubled", "different")]
    name = f"{table.table} from {table.topic}" if table.topic else table.table
    if table.error and not table.topics:
        return (name, table.outcome, *[None] * 8, f"{table.seconds:.1f}")
    return (
        name,
        table.outcome,
        table.source_rows,
        table.table_rows,
        table.equal_rows,
        *counts,
        table.in_flight or None,
        f"{table.seconds:.1f}",
    )


def _show_table(table: "TableVerification") -> None:
    if table.columns:
        print_text()
        counts = ", ".join(f"{name} {count:,}" for name, count in table.columns.items())
        print_text(f"{table.table}: different values by column: {counts}", hanging=2)
    if table.rows:
        print_text()
        rows = [_difference(row) for row in table.rows]
        print_table(("key", "difference", "columns", "source", "table"), rows, elastic=("source", "table"))
    if table.uncompared:
        print_text()
        for name, reason in table.uncompared.items():
            print_text(f"{table.table}.{name} is not compared: {reason}", hanging=2)
    for statement in table.repair:
        print_page(statement)
    if table.deleted:
        print_text(f"{table.table}: deleted {table.deleted:,} rows that the source does not have")
    if table.note:
        print_text(f"{table.table}: {table.note}", hanging=2)


def _difference(row: "RowDifference") -> tuple[str, ...]:
    key = ", ".join(f"{name}={value}" for name, value in row.key.items())
    values = [", ".join(f"{k}={v}" for k, v in (side or {}).items()) for side in (row.source, row.table)]
    return (key, row.difference, first_few(row.columns), *values)
