"""`ingest adopt`: import a table written by another job."""

from typing import Annotated

from cyclopts import Parameter

from ingest.adopt.request import AdoptRequest
from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout
from ingest.cli.page import CommandPage, Json
from ingest.cli.takeover import Nulls, show_result
from ingest.stop import Stop, terminable

app = CommandPage(name="adopt", help_format="markdown")


@app.default
def adopt(
    table: Annotated[str, table_parameter("The table.")],
    /,
    *,
    path: Annotated[
        str,
        Parameter(
            help="Folder of the table of the other writer, by default the table's own place in the lake."
        ),
    ] = "",
    offsets: Annotated[
        str,
        Parameter(
            help="Where to continue: earliest, latest, a time (2026-11-20T00:00, in UTC unless +02:00 "
            "follows), or by partition: 0=120,1=earliest. By default HoodieStreamer's own checkpoint."
        ),
    ] = "",
    null: Nulls = (),
    dry_run: Annotated[bool, Parameter(negative="", help="Show what is to do, and write nothing.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Take over a Hudi table of another writer, such as HoodieStreamer or a job that you wrote.

    Its rows are written into a new table, in the types and with the key of the table file. Runs continue from
    the offsets. Readers see the other table until the new one replaces it in one step. The other table is
    kept in `_adopted`. Stop its writer first.

    Exit code 0: done or nothing to do. 1: the rows do not fit. 2: wrong offsets. 75: try again.

    Example: `ingest adopt server1_dbo_customers --offsets 0=120,1=98 --dry-run`
    """
    claim_stdout()
    request = AdoptRequest(path, offsets, tuple(null), dry_run)
    with (
        terminable(),
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        result = session.adopt(table, request, progress=progress, stop=Stop())
    return show_result(result, as_json=json)
