"""`ingest rejects`: the records that a table rejected, its dead letters."""

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, exit_code_of, print_json, print_page, print_table, print_text
from ingest.cli.page import Json
from ingest.errors import UsageError

if TYPE_CHECKING:
    from datetime import datetime

    from ingest.operations.rejects.rejects import Reject, Rejects
    from ingest.operations.rejects.replay import Replayed

app = App(
    name="rejects",
    help_format="markdown",
    help="List, show, replay or purge the records that a table rejected.",
)

_SHORT = 200
_Table = Annotated[str, table_parameter("The table.")]
_Natural = Number(gte=0)
_Topic = Annotated[
    str | None, Parameter(help="Topic of the record, for a table of several topics.", show_default=False)
]


@app.command(name="list")
def list_(
    table: _Table,
    /,
    *,
    limit: Annotated[int, Parameter(help="Records to show at most.", validator=Number(gte=1))] = 50,
    resolved: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show resolved rejects too.")
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """List the open rejects of a table, by partition and offset, and count them by reason.

    Example: `ingest rejects list server1_dbo_customers`
    """
    claim_stdout()
    with deployment.open() as session:
        rejects = session.rejects(table, limit=limit, resolved=resolved)
    if json:
        print_json(rejects.to_json())
    else:
        print_list(rejects)
    return 0


@app.command
def show(
    table: _Table,
    partition: Annotated[int, Parameter(help="Partition of the record.", validator=_Natural)],
    offset: Annotated[int, Parameter(help="Offset of the record.", validator=_Natural)],
    /,
    *,
    topic: _Topic = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show one reject in full: reason, headers, and the bytes of key and value.

    Example: `ingest rejects show server1_dbo_customers 0 4711`
    """
    claim_stdout()
    with deployment.open() as session:
        reject = session.reject(table, partition, offset, topic=topic)
    if json:
        print_json(reject.to_json(whole=True))
    else:
        print_whole(reject)
    return 0


@app.command
def replay(
    table: _Table,
    /,
    *,
    partition: Annotated[int | None, Parameter(help="Only this partition.", validator=_Natural)] = None,
    offset: Annotated[int | None, Parameter(help="Only this offset.", validator=_Natural)] = None,
    topic: _Topic = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Apply open rejects again, with the current schemas and the current table file.

    Each keeps its position in the order of changes: a newer row in the table stays. Rejects that still
    cannot be applied stay open, with their current reason. Exit code 1 if any stays open.

    Example: `ingest rejects replay server1_dbo_customers --partition 0 --offset 4711`
    """
    if offset is not None and partition is None:
        raise UsageError("--offset needs --partition", "An offset is unique only within its partition")
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        replayed = session.replay(table, partition=partition, offset=offset, topic=topic, progress=progress)
    if json:
        print_json(replayed.to_json())
    else:
        print_replayed(replayed)
    return exit_code_of([replayed])


@app.command
def purge(
    table: _Table,
    /,
    *,
    all: Annotated[bool, Parameter(negative=(), show_default=False, help="Delete open rejects too.")] = False,  # noqa: A002  the flag's name
    older_than: Annotated[
        float, Parameter(help="Only rejects at least this many days old.", validator=Number(gte=0))
    ] = 0,
    yes: Annotated[bool, Parameter(negative=(), show_default=False, help="Delete without asking.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Delete rejects permanently: the resolved ones or, with --all, open ones too.

    Example: `ingest rejects purge server1_dbo_customers --all --older-than 30 --yes`
    """
    claim_stdout()
    with deployment.open() as session:
        table = session.table(table).name
        count = session.purge(table, older_than_days=older_than, resolved=not all, dry_run=True)
        if count and (yes or _agreed(table, count)):
            count = session.purge(table, older_than_days=older_than, resolved=not all)
        elif count:
            count = 0
    if json:
        print_json({"table": table, "purged": count})
    else:
        print_text(f"{count:,} rejects of {table} purged")
    return 0


def _agreed(table: str, count: int) -> bool:
    """Ask for confirmation on a terminal. A script has to pass --yes."""
    if not sys.stdin.isatty():
        raise UsageError(f"{count:,} rejects of {table} would be deleted permanently", "Confirm with --yes")
    sys.stderr.write(f"Delete {count:,} rejects of {table} permanently? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def print_list(rejects: "Rejects") -> None:
    """Print how many rejects are open, for which reasons, and the first of them."""
    if not rejects.open and not rejects.records:
        resolved = f", {rejects.resolved:,} resolved" if rejects.resolved else ""
        print_text(f"{rejects.table} has no open rejects{resolved}")
        return
    counts = f"{rejects.open:,} open, {rejects.resolved:,} resolved"
    print_text(f"{rejects.table}: {counts}, in {rejects.path}", hanging=2)
    if rejects.reasons:
        print_text()
        print_table(("reason", "open"), list(rejects.reasons.items()), right=("open",))
    if rejects.records:
        print_text()
        headings = ("topic", "partition", "offset", "time", "schema id", "resolved", "reason", "error")
        is_several = len({reject.topic for reject in rejects.records}) > 1
        rows = [(reject.topic if is_several else "", *_row(reject)) for reject in rejects.records]
        print_table(headings, rows, right=headings[1:3], elastic=("error",))
    hidden = rejects.open - len(rejects.records)
    if hidden > 0:
        print_text(f"and {hidden:,} more: --limit")


def _row(reject: "Reject") -> tuple[object, ...]:
    error = reject.error if len(reject.error) <= _SHORT else f"{reject.error[:_SHORT]}…"
    return (
        reject.partition,
        str(reject.offset),
        _time(reject.timestamp),
        _id(reject),
        reject.resolved,
        reject.reason,
        error,
    )


def print_whole(reject: "Reject") -> None:
    """Print every field of one reject, and the bytes of its headers, key and value."""
    fields = {
        "message": f"{reject.topic}-{reject.partition}-{reject.offset}",
        "time": _time(reject.timestamp),
        "schema id": _id(reject),
        "reason": reject.reason,
        "error": reject.error,
        "run": reject.run_id,
        "rejected": _time(reject.rejected_at),
        "resolved": f"{reject.resolved} {_time(reject.resolved_at)}" if reject.resolved else None,
    }
    for name, text in fields.items():
        if text is not None:
            print_text(f"{name}: {text}", hanging=2)
    if reject.key is None and reject.value is None:
        print_text()
        print_text("key and value are not stored: the table has masks")
        return
    headers = {f"header {name}": value for name, value in reject.headers}
    for name, value in {**headers, "key": reject.key, "value": reject.value}.items():
        print_text()
        print_text(f"{name}: null" if value is None else f"{name}: {len(value):,} bytes")
        if value:
            print_page(_dump(value))


def _dump(value: bytes) -> str:
    """Write bytes as lines of sixteen: position, hexadecimal digits, text."""
    lines = []
    for start in range(0, len(value), 16):
        part = value[start : start + 16]
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in part)  # noqa: PLR2004  ASCII
        lines.append(f"  {start:06x}  {part.hex(' '):47}  {text}")
    return "\n".join(lines)


def print_replayed(replayed: "Replayed") -> None:
    """Print the result of a replay."""
    counts = replayed.counts
    if not counts.read:
        print_text(f"{replayed.table} has no matching open rejects")
        return
    print_text(
        f"{replayed.table}: {replayed.resolved:,} of {counts.read:,} rejects resolved ({counts.upserted:,} "
        f"upserts, {counts.deleted:,} deletes, each at its position in the order of changes)"
    )
    if counts.rejected:
        print_text(f"{counts.rejected:,} stay open: `ingest rejects list {replayed.table}` shows why")


def _id(reject: "Reject") -> str | None:
    return None if reject.schema_id is None else str(reject.schema_id)


def _time(moment: "datetime | None") -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
