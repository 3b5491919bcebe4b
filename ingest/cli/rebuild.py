"""`ingest rebuild`: rewrite a table after a change to its file."""

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_text, show_errors
from ingest.cli.page import CommandPage, Json
from ingest.errors import UsageError
from ingest.stop import Stop, terminable

if TYPE_CHECKING:
    from ingest.operations.rebuild.rebuild import Rebuilt

app = CommandPage(name="rebuild", help_format="markdown")


@app.default
def rebuild(
    *tables: Annotated[str, table_parameter("Tables to rebuild, by name or glob.")],
    all_: Annotated[
        bool, Parameter(name="--all", negative="", help="Rebuild every table whose file has changed.")
    ] = False,
    from_: Annotated[
        Literal["table", "topic"],
        Parameter(
            name="--from",
            help="Where the rows come from: the table itself, or its topic, if a policy has converted "
            "the values that the table stores.",
        ),
    ] = "table",
    dry_run: Annotated[bool, Parameter(negative="", help="Show what is to do, and write nothing.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Rewrite a table after a change to a setting that is fixed when a table is created.

    These are buckets, index, type, key, renamed columns, partitions and table version (both on a local disk).
    With `--from topic` also the mode, policies of times, documents, masks, conditions and computed columns.
    Readers see the old table until the commit. The offsets stay, so the next run continues. Takes the table's
    lock. If it is killed, the table is the old or the new one, and the next run or the same command finishes
    its work. Several tables are rebuilt one after the other.

    Exit code 0: done or nothing to do. 1: a table cannot be rebuilt this way. 75: try again. `--json` prints
    the result of one table, or a list for several.

    Example: `ingest rebuild server1_dbo_customers --dry-run`
    """
    if bool(tables) == all_:
        raise UsageError("rebuild needs tables, or --all", "Name them, such as `ingest rebuild orders`")
    claim_stdout()
    with (
        terminable(),
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        stop = Stop()
        results = []
        for table in session.tables(tables):
            results.append(session.rebuild(table.name, from_, dry_run=dry_run, progress=progress, stop=stop))
            if stop.signal:
                break
    if json:
        shown = [result.to_json() for result in results]
        print_json(shown[0] if len(tables) == len(shown) == 1 else shown)
    for result in results:
        if not json:
            _show(result)
    return show_errors(results)


def _show(result: "Rebuilt") -> None:
    plan = result.plan
    if result.outcome == "idle":
        print_text(f"{result.table}: nothing to rebuild: its file agrees with the table")
    elif result.outcome == "planned":
        print_text(f"{result.table}: rebuild: {plan}")
        print_text("Dry run: nothing was written")
    elif result.outcome == "rebuilt" and plan is None:
        print_text(f"{result.table}: completed an interrupted rebuild, with the rows as of commit "
                   f"{result.instant}")  # fmt: skip
    elif result.outcome == "rebuilt" and plan is not None:
        changes = ", ".join(map(str, plan.changes))
        print_text(f"{result.table}: rebuilt from the {result.source}: {changes}")
        print_text(f"{result.rows or 0:,} rows in {result.seconds:.1f} s, commit {result.instant}")
    if plan and plan.caveat:
        print_text(plan.caveat)
