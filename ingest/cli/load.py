"""`ingest load`: fill an empty table from an export of its source."""

from typing import Annotated

from cyclopts import Parameter

from ingest.adopt.request import ExportKind, LoadRequest
from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout
from ingest.cli.page import CommandPage, Json
from ingest.cli.takeover import Nulls, show_result
from ingest.stop import Stop, terminable

app = CommandPage(name="load", help_format="markdown")


@app.default
def load(
    table: Annotated[str, table_parameter("The table.")],
    /,
    *,
    from_: Annotated[
        tuple[ExportKind, str],
        Parameter(
            name="--from",
            negative=(),
            help="`parquet` and a path, or `jdbc` and the NAME of `[sources.NAME]`.",
        ),
    ],
    position: Annotated[
        str,
        Parameter(
            help="Position of the source when the export began: an LSN (SQL Server 0000002a:00000150:0003, "
            "PostgreSQL 0/16B3748), an SCN, or mysql-bin.000003:154."
        ),
    ] = "",
    offsets: Annotated[
        str,
        Parameter(
            help="Where the first run starts: earliest, a time (2026-11-20T00:00, in UTC unless +02:00 "
            "follows), or by partition: 0=120,1=earliest. By default the first messages that the topic has."
        ),
    ] = "",
    null: Nulls = (),
    dry_run: Annotated[bool, Parameter(negative="", help="Show what is to do, and write nothing.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Fill an empty table from an export of its source, so that runs continue from the export's position.

    Changes up to the position lose against the rows, and later changes win. The topic must have every later
    change. If it is killed, the table has all rows or none.

    Exit code 0: done, or this export is loaded already. 1: the rows do not fit, or changes are missing.
    2: wrong position or offsets. 75: try again.

    Example: `ingest load shop_orders --from parquet s3a://exports/orders --position 0000002a:00000150:0003`
    """
    claim_stdout()
    request = LoadRequest(*from_, position, offsets, tuple(null), dry_run)
    with (
        terminable(),
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        result = session.load(table, request, progress=progress, stop=Stop())
    return show_result(result, as_json=json)
