"""`ingest schema`: the schemas of a registry, as ingest reads them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import attrs
from cyclopts import App, Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, print_error, print_json, print_page, print_table, print_text

if TYPE_CHECKING:
    from ingest.operations.versions import PlannedChange

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
    from ingest.dialects import DIALECTS  # noqa: PLC0415  same
    from ingest.typemap.page import type_lines, type_page  # noqa: PLC0415  light start

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


@app.command
def diff(
    name: Annotated[str, Parameter(help="A table, or a registry subject.")],
    old: Annotated[
        int | None, Parameter(help="The older version; the one before the other without it.")
    ] = None,
    new: Annotated[int | None, Parameter(help="The newer version; the latest without it.")] = None,
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show what one version of a subject changes about another, and what a table's policies do about it.

    Example: `ingest schema diff server1_dbo_customers 1 3`
    """
    with deployment.open() as session:
        found = session.compare(name, old, new)
    if json:
        print_json(found.to_json())
        return 0
    print_text(
        f"{found.new.subject}: version {found.old.version} (id {found.old.id}) "
        f"to version {found.new.version} (id {found.new.id})"
    )
    print_text()
    if not found.changes:
        print_text("No difference.")
        return 0
    print_changes(found.changes)
    return 0


@app.command
def history(
    table: Annotated[str, Parameter(help="A table.")],
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the versions of a table's value subject, their ids, and the commits that met them.

    Example: `ingest schema history server1_dbo_customers`
    """
    claim_stdout()
    with deployment.open() as session:
        found = session.history(table)
    if json:
        print_json([one.to_json() for one in found])
        return 0
    rows = [
        (
            one.version or None,
            one.schema_id,
            one.first or "not met yet",
            one.last,
            one.commits,
            "no version of the subject" if not one.version else "deleted" if one.deleted else "",
        )
        for one in found
    ]
    numbers = ("version", "id", "commits")
    print_table(("version", "id", "first commit", "last commit", "commits", "note"), rows, right=numbers)
    return 0


@app.command
def check(
    table: Annotated[str, Parameter(help="A table.")],
    file: Annotated[Path, Parameter(help="The new version's schema, not registered yet: Avro as JSON.")],
    /,
    *,
    registry_only: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Take the table to be what the registered versions make of it: needs no lake and no Spark.",
        ),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Ask whether a schema could be the next version: would the registry take it, and the table.

    For a producer's CI. Nothing is registered. Exit code 1 if either says no.

    Example: `ingest schema check server1_dbo_customers customers.avsc --registry-only`
    """
    claim_stdout()
    with deployment.open() as session:
        found = session.check(table, file, registry_only=registry_only)
    if json:
        print_json(found.to_json())
        return 0 if found.passes else 1
    print_text(f"{file} against {found.subject} version {found.against.version} (id {found.against.id})")
    print_text()
    if found.changes:
        print_changes(found.changes)
        print_text()
    answer = "compatible" if found.verdict.compatible else "NOT compatible"
    print_text(f"registry ({found.level}): {answer}")
    for message in found.verdict.messages:
        print_text(message, indent=2)
    print_text("table: stops" if found.failures else "table: takes it")
    for name in found.rewrites:
        print_text(f"{name} cannot be widened in place: the whole table is written anew", indent=2)
    for failure in found.failures:
        print_error(str(failure))
    return 0 if found.passes else 1


def print_changes(changes: "tuple[PlannedChange, ...]") -> None:
    """Print differences, with what the policies do about them."""
    rows = [
        (one.change.column, one.change.kind, one.change.was, one.change.type, f"{one.policy}: {one.effect}")
        for one in changes
    ]
    headings = ("column", "change", "was", "is", "policy")
    print_table(headings, rows, elastic=("was", "is", "policy"))
