"""`ingest offsets`: what a table has read, and deliberate moves."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_json, print_table, print_text

if TYPE_CHECKING:
    from ingest.operations.offsets import TableStatus

app = App(name="offsets", sort_key=5, help="The Kafka offsets that a table's last commit holds.")


@app.command
def show(
    table: Annotated[str, Parameter(help="The table.")],
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the offsets that the next run of a table starts from.

    Example: `ingest offsets show server1_dbo_customers`
    """
    claim_stdout()
    with deployment.open() as session:
        (found,) = session.status([table])
    _print(found, as_json=json)
    return 0


@app.command(name="set")
def set_(
    table: Annotated[str, Parameter(help="The table.")],
    /,
    *,
    to: Annotated[str, Parameter(help="earliest, latest, or by partition: 0=120,1=earliest.")],
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Move a table's offsets; the move is a commit in the table's own history, its rows stay.

    After a move back, the next run replays at least up to where the table stood, in one commit.

    Example: `ingest offsets set server1_dbo_customers --to earliest`
    """
    claim_stdout()
    with deployment.open() as session:
        moved = session.move_offsets(table, to)
    _print(moved, as_json=json)
    return 0


def _print(found: "TableStatus", *, as_json: bool) -> None:
    if as_json:
        print_json(found.to_json())
        return
    last = found.last
    if last is None:
        print_text(f"{found.table} has no commit yet: its first run starts at the topic's beginning")
        return
    lag = "unknown" if found.lag is None else f"{found.lag:,}"
    print_text(f"{found.table} from topic {found.topic}: commit {last.instant}, lag {lag}")
    print_text()
    headings = ("partition", "next offset", "applied up to")
    rows = [(p, offset, last.high_offsets.get(p)) for p, offset in sorted(last.next_offsets.items())]
    print_table(headings, rows, right=headings)
