"""`ingest schema`: the schemas of a registry, as ingest reads them."""

from typing import Annotated, Literal

import attrs
from cyclopts import App, Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import print_error, print_json, print_page, print_table, print_text

app = App(name="schema", sort_key=4, help="The schemas of a registry, as ingest reads them.")


@app.command
def types(
    connector: Annotated[
        Literal["sqlserver", "oracle", "mongodb", "postgres", "mysql", "cdl"],
        Parameter(help="The connector, by its name in table files."),
    ],
    /,
    *,
    markdown: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Print a page, not a table.")
    ] = False,
    json: Json = False,
) -> int:
    """Show what each type of a connector becomes: by its meaning, how it is carried, and the policy.

    Example: `ingest schema types postgres`
    """
    from ingest.compile.typepage import type_lines, type_page  # noqa: PLC0415  light start
    from ingest.dialects import DIALECTS  # noqa: PLC0415  same

    dialect = DIALECTS[connector]
    lines = type_lines(dialect)
    if markdown:
        print_page(type_page(dialect).rstrip())
    elif json:
        print_json([attrs.asdict(line) for line in lines])
    else:
        rows = [
            (line.semantic.rpartition(".")[2], line.physical, line.policy, line.spark, line.unit, line.loses)
            for line in lines
        ]
        headings = ("meaning", "carried as", "policy", "spark", "unit", "loses")
        print_table(headings, rows, elastic=("unit", "loses"))
    return 0


@app.command
def show(
    subject: Annotated[str, Parameter(help="Registry subject, such as server1.dbo.customers-value.")],
    /,
    *,
    version: Annotated[int | None, Parameter(help="Version of the subject; the latest without it.")] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show a subject column by column: Avro type, meaning, Spark type, unit, and what is lost.

    Exit code 1 if a column has a type that ingest does not know.

    Example: `ingest schema show server1.dbo.customers-value --version 2`
    """
    with deployment.open() as session:
        registered, described = session.describe(subject, version)
    if json:
        head = {"subject": registered.subject, "version": registered.version, "id": registered.id}
        print_json({**head, **described.to_json()})
    else:
        title = f"{registered.subject} version {registered.version} (id {registered.id}): {described.kind}"
        print_text(f"{title} of {described.dialect}" if described.dialect else title)
        print_text()
        rows = [
            (c.name, c.avro, c.semantic.rpartition(".")[2], c.spark, c.unit, c.loses)
            for c in described.columns
        ]
        headings = ("column", "avro", "meaning", "spark", "unit", "loses")
        print_table(headings, rows, elastic=("spark", "unit", "loses"))
    problems = [column.problem for column in described.columns if column.problem]
    for problem in problems:
        print_error(problem)
    return 1 if problems else 0
