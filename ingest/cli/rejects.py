"""`ingest rejects`: the records that a table set aside."""

import sys
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter
from cyclopts.validators import Number

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_json, print_page, print_table, print_text, show_progress

if TYPE_CHECKING:
    from datetime import datetime

    from ingest.operations.rejects import Reject, Rejects
    from ingest.operations.replay import Replayed

app = App(name="rejects", sort_key=4, help="The records that a table set aside: look, replay, purge.")

_SHORT = 200
_Table = Annotated[str, Parameter(help="The table.")]
_Natural = Number(gte=0)


@app.command(name="list")
def list_(
    table: _Table,
    /,
    *,
    limit: Annotated[int, Parameter(help="Records to show at the most.", validator=Number(gte=1))] = 50,
    resolved: Annotated[bool, Parameter(negative=(), help="Show resolved ones too.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """List the open rejects of a table, by their place in the topic, and count them by reason.

    Example: `ingest rejects list server1_dbo_customers`
    """
    claim_stdout()
    with deployment.open() as session:
        found = session.rejects(table, limit=limit, resolved=resolved)
    if json:
        print_json(found.to_json())
    else:
        print_list(found)
    return 0


@app.command
def show(
    table: _Table,
    partition: Annotated[int, Parameter(help="Its partition.", validator=_Natural)],
    offset: Annotated[int, Parameter(help="Its offset.", validator=_Natural)],
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show one reject with all that is known of it: reason, headers, and the bytes of key and value.

    Example: `ingest rejects show server1_dbo_customers 0 4711`
    """
    claim_stdout()
    with deployment.open() as session:
        found = session.reject(table, partition, offset)
    if json:
        print_json(found.to_json(whole=True))
    else:
        print_whole(found)
    return 0


@app.command
def replay(
    table: _Table,
    /,
    *,
    partition: Annotated[int | None, Parameter(help="Of this partition alone.", validator=_Natural)] = None,
    offset: Annotated[int | None, Parameter(help="Of this offset alone.", validator=_Natural)] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Put open rejects through again, by the schemas and the table file as they are now.

    Each takes its own place in the order: a newer row in the table stays. Those that still cannot be applied
    stay open, with the reason that they have now. Exit code 1 if there are any.

    Example: `ingest rejects replay server1_dbo_customers --partition 0 --offset 4711`
    """
    from ingest.errors import UsageError  # noqa: PLC0415  light start

    if offset is not None and partition is None:
        raise UsageError("--offset needs --partition", "Offsets count within a partition")
    claim_stdout()
    with deployment.open() as session, show_progress() as progress:
        done = session.replay(table, partition=partition, offset=offset, progress=progress)
    if json:
        print_json(done.to_json())
    else:
        print_replayed(done)
    return 1 if done.counts.rejected else 0


@app.command
def purge(
    table: _Table,
    /,
    *,
    all: Annotated[bool, Parameter(negative=(), help="Open ones too.")] = False,  # noqa: A002  the flag's name
    older_than: Annotated[
        float, Parameter(help="Only those set aside so many days ago.", validator=Number(gte=0))
    ] = 0,
    yes: Annotated[bool, Parameter(negative=(), help="Do not ask.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Delete rejects for good: the resolved ones or, with --all, open ones too.

    Example: `ingest rejects purge server1_dbo_customers --all --older-than 30 --yes`
    """
    claim_stdout()
    with deployment.open() as session:
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
    """Ask a person; a script has to say it beforehand."""
    from ingest.errors import UsageError  # noqa: PLC0415  light start

    if not sys.stdin.isatty():
        raise UsageError(f"{count:,} rejects of {table} would be deleted for good", "Say --yes")
    sys.stderr.write(f"Delete {count:,} rejects of {table} for good? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def print_list(found: "Rejects") -> None:
    """Print how many rejects are open, for which reasons, and the first of them."""
    if not found.open and not found.records:
        resolved = f", {found.resolved:,} resolved" if found.resolved else ""
        print_text(f"{found.table} has no open rejects{resolved}")
        return
    print_text(f"{found.table}: {found.open:,} open, {found.resolved:,} resolved, in {found.path}", hanging=2)
    if found.reasons:
        print_text()
        print_table(("reason", "open"), list(found.reasons.items()), right=("open",))
    if found.records:
        print_text()
        headings = ("partition", "offset", "time", "schema id", "resolved", "reason", "error")
        print_table(headings, [_row(one) for one in found.records], right=headings[:2], elastic=("error",))
    more = found.open - len(found.records)
    if more > 0:
        print_text(f"and {more:,} more: --limit")


def _row(one: "Reject") -> tuple[object, ...]:
    error = one.error if len(one.error) <= _SHORT else f"{one.error[:_SHORT]}…"
    schema_id = None if one.schema_id is None else str(one.schema_id)
    return (one.partition, str(one.offset), _time(one.timestamp), schema_id, one.resolved, one.reason, error)


def print_whole(one: "Reject") -> None:
    """Print all that is known of one reject."""
    told = {
        "place": f"{one.topic}-{one.partition}-{one.offset}",
        "time": _time(one.timestamp),
        "schema id": None if one.schema_id is None else str(one.schema_id),
        "reason": one.reason,
        "error": one.error,
        "run": one.run_id,
        "set aside": _time(one.rejected_at),
        "resolved": f"{one.resolved} {_time(one.resolved_at)}" if one.resolved else None,
    }
    for name, text in told.items():
        if text is not None:
            print_text(f"{name}: {text}", hanging=2)
    parts = {f"header {name}": value for name, value in one.headers}
    for name, value in {**parts, "key": one.key, "value": one.value}.items():
        print_text()
        print_text(f"{name}: null" if value is None else f"{name}: {len(value):,} bytes")
        if value:
            print_page(_dump(value))


def _dump(value: bytes) -> str:
    """Write bytes as lines of sixteen: place, hexadecimal digits, text."""
    lines = []
    for start in range(0, len(value), 16):
        part = value[start : start + 16]
        text = "".join(chr(one) if 0x20 <= one < 0x7F else "." for one in part)  # noqa: PLR2004  ASCII
        lines.append(f"  {start:06x}  {part.hex(' '):47}  {text}")
    return "\n".join(lines)


def print_replayed(done: "Replayed") -> None:
    """Print what a replay did."""
    counts = done.counts
    if not counts.read:
        print_text(f"{done.table} has no open rejects there")
        return
    print_text(
        f"{done.table}: {done.resolved:,} of {counts.read:,} rejects resolved ({counts.upserted:,} upserts, "
        f"{counts.deleted:,} deletes, each in its place in the order)"
    )
    if counts.rejected:
        print_text(f"{counts.rejected:,} stay open: `ingest rejects list {done.table}` tells why")


def _time(moment: "datetime | None") -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"
