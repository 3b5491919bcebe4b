"""`ingest offsets`: deliberate moves of a table, and the offsets that it has read."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.old_spellings import warn_of
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text
from ingest.cli.page import Json
from ingest.report.result import worst

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ingest.operations.offsets import OffsetMove
    from ingest.operations.status.status import TableStatus

app = App(name="offsets", help_format="markdown", help="Move a table to other Kafka offsets.")


@app.command(show=False)
def show(
    *tables: Annotated[str, table_parameter("Tables, by name or glob, by default all.")],
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the offsets that the next run starts from, as `ingest status --offsets`.

    With --json an object for one table that is named, else a list of objects.
    """
    warn_of("offsets show", "status --offsets")
    claim_stdout()
    with deployment.open() as session:
        statuses = session.status(tables)
    is_one = len(tables) == len(statuses) == 1 and tables[0] == statuses[0].table
    if json:
        print_json(statuses[0].to_json() if is_one else [status.to_json() for status in statuses])
    else:
        print_offsets(statuses)
    for status in statuses:
        if status.error:
            print_error(str(status.error))
    return worst(status for status in statuses if status.last is None)


@app.command(name="set")
def set_(
    table: Annotated[str, table_parameter("The table.")],
    /,
    *,
    to: Annotated[
        str,
        Parameter(
            help="earliest, latest, a time (2026-11-20T00:00, in UTC unless +02:00 follows), 1d (a day ago), "
            "or by partition: 0=120,1=earliest."
        ),
    ],
    topic: Annotated[
        str | None, Parameter(help="The topic to move, for a table of several topics.", show_default=False)
    ] = None,
    dry_run: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show the offsets, write nothing.")
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Move a table's offsets. The move is a commit in the table's history, and the rows stay.

    A time means the first message with this timestamp or a later one, in each partition. After a move back,
    the next run replays in one commit at least up to the offsets read before.

    Example: `ingest offsets set server1_dbo_customers --to 2026-11-20T00:00 --dry-run`
    """
    claim_stdout()
    with deployment.open() as session:
        if dry_run:
            _print_move(session.preview_offsets(table, to, topic=topic), as_json=json)
            return 0
        status = session.move_offsets(table, to, topic=topic)
    if json:
        print_json(status.to_json())
    else:
        _print(status)
    return 0


def _print_move(move: "OffsetMove", *, as_json: bool) -> None:
    if as_json:
        print_json(move.to_json())
        return
    print_text(f"{move.table} from topic {move.topic}: would move to {move.to}")
    print_text()
    headings = ("partition", "next offset", "would be", "read again", "skipped")
    rows = []
    for partition, after in sorted(move.after.items()):
        before = move.before.get(partition, 0)
        rows.append(
            (partition, move.before.get(partition), after, max(0, before - after), max(0, after - before))
        )
    print_table(headings, rows, right=headings)


def print_offsets(statuses: "Sequence[TableStatus]") -> None:
    """Print the offsets that the next run of each table starts from."""
    for number, status in enumerate(statuses):
        print_text() if number else None
        _print(status)


def _print(status: "TableStatus") -> None:
    last = status.last
    if last is None and status.error:
        return
    if last is None:
        print_text(f"{status.table} has no commit yet: its first run starts at the topic's beginning")
        return
    for topic in status.topics:
        _print(topic)
    if status.topics:
        return
    lag = "unknown" if status.lag is None else f"{status.lag:,}"
    print_text(f"{status.table} from topic {status.topic}: commit {last.instant}, lag {lag}")
    print_text()
    headings = ("partition", "next offset", "applied up to")
    rows = [
        (partition, offset, last.high_offsets.get(partition))
        for partition, offset in sorted(last.next_offsets.items())
    ]
    print_table(headings, rows, right=headings)
