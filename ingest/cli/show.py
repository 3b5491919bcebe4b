"""`ingest show`: what holds for a table, or its rows."""

from typing import TYPE_CHECKING, Annotated, Final

import tomlkit
from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_table, print_text, spin
from ingest.cli.page import CommandPage, Json
from ingest.errors import UsageError

if TYPE_CHECKING:
    from ingest.operations.show import TableView

app = CommandPage(name="show", help_format="markdown")

_FROM: Final = {"file": "file", "defaults": "[defaults]", "product": "product", "derived": "derived"}
_SHOWN: Final = 300
"""Characters of a row's value.  JSON has it whole."""


@app.default
def show(
    table: Annotated[str, table_parameter("The table.")],
    /,
    *,
    rows: Annotated[int | None, Parameter(help="Show this many rows instead, the newest first.")] = None,
    key: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Show the rows of a key instead: its value, or `NAME=VALUE`, repeated for each column.",
        ),
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the values that hold for a table, with the origin of each, or its rows.

    A value comes from the table's `file`, from `[defaults]` of the settings, is a default of ingest itself
    (`product`), or is `derived` from other values. Rows are read with Spark.

    Example: `ingest show server1_dbo_customers --key 7`
    """
    if rows is not None and rows < 1:
        raise UsageError(f"--rows {rows}: found {rows}; allowed: 1 or more")
    if rows is not None or key:
        claim_stdout()
    with deployment.open() as session, spin(f"reading {table}"):
        view = session.show(table, rows=rows, key=key or ())
    if json:
        print_json(view.to_json())
    elif view.rows is None:
        _print_values(view)
    else:
        _print_rows(view)
    return 0


def _print_values(view: "TableView") -> None:
    print_text(f"{view.table}: table file {view.file}, rows in {view.path}", hanging=2)
    print_text()
    rows = [(v.key, tomlkit.item(v.value).as_string(), _FROM[v.origin]) for v in view.values]
    print_table(("key", "value", "from"), rows, elastic=("value",))


def _print_rows(view: "TableView") -> None:
    if not view.rows:
        print_text(f"{view.table}: no such rows")
        return
    headings = sorted(view.rows[0], key=lambda name: name.startswith("_cdc_"))  # stable: the row's own first
    print_table(headings, [[_cut(row[name]) for name in headings] for row in view.rows])


def _cut(text: str | None) -> str | None:
    return text if text is None or len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
