"""`ingest schema`: the schemas of a registry, as ingest reads them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

import attrs
from cyclopts import App, Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.options import EXPERT, Deployment
from ingest.cli.output import claim_stdout, print_error, print_json, print_page, print_table, print_text
from ingest.cli.page import Json
from ingest.dialects import DIALECTS, Dialect
from ingest.errors import UsageError
from ingest.operations.versions import CompatibilityReport, PlannedChange, SubjectVersion
from ingest.typemap.page import type_lines, type_page

app = App(name="schema", help_format="markdown", help="Show, compare and check the schemas of a registry.")


@app.command
def show(
    subject: Annotated[
        str | None, Parameter(help="Registry subject, such as server1.dbo.customers-value.")
    ] = None,
    /,
    *,
    version: Annotated[int | None, Parameter(help="Version of the subject, by default the latest.")] = None,
    connector: Annotated[
        Literal["sqlserver", "oracle", "mongodb", "postgres", "mysql", "cdl"] | None,
        Parameter(help="In place of a subject: all types of this connector, as table files name it."),
    ] = None,
    markdown: Annotated[
        bool,
        Parameter(
            negative=(), show_default=False, group=EXPERT, help="With --connector: print a page, not a table."
        ),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show a subject column by column: Avro type, meaning, Spark type, unit, and any loss.

    With `--connector` shows the Spark type of each type of a connector: by semantic name, physical type and
    policy.

    Exit code 1 if ingest does not know a column's type.

    Example: `ingest schema show server1.dbo.customers-value --version 2`

    Example: `ingest schema show --connector postgres`
    """
    if connector and not subject and version is None:
        _show_types(DIALECTS[connector], markdown=markdown, as_json=json)
        return 0
    if connector or markdown or not subject:
        todo = "Give a subject, perhaps with --version, or --connector, perhaps with --markdown"
        raise UsageError("schema show takes either a subject or a connector", todo)
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


def _show_types(dialect: Dialect, *, markdown: bool, as_json: bool) -> None:
    lines = type_lines(dialect)
    if markdown:
        print_page(type_page(dialect).rstrip())
    elif as_json:
        print_json([attrs.asdict(line) for line in lines])
    else:
        rows = [
            (line.semantic.rpartition(".")[2], line.physical, line.policy, line.spark, line.unit, line.loses)
            for line in lines
        ]
        headings = ("meaning", "carried as", "policy", "spark", "unit", "loses")
        print_table(headings, rows, elastic=("unit", "loses"))


@app.command
def diff(
    name: Annotated[str, Parameter(help="A table, or a registry subject.")],
    old: Annotated[
        int | None, Parameter(help="The older version, by default the one before the newer.")
    ] = None,
    new: Annotated[int | None, Parameter(help="The newer version, by default the latest.")] = None,
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the differences between two versions of a subject, and how a table's policies treat them.

    Example: `ingest schema diff server1_dbo_customers 1 3`
    """
    with deployment.open() as session:
        comparison = session.compare(name, old, new)
    if json:
        print_json(comparison.to_json())
        return 0
    before, after = (f"version {side.version} (id {side.id})" for side in (comparison.old, comparison.new))
    print_text(f"{comparison.new.subject}: {before} to {after}")
    print_text()
    if not comparison.changes:
        print_text("No difference.")
        return 0
    print_changes(comparison.changes)
    return 0


@app.command
def versions(
    table: Annotated[str, table_parameter("A table.")],
    /,
    *,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the versions of a table's value subject, their ids, and the commits that read them.

    Example: `ingest schema versions server1_dbo_customers`
    """
    claim_stdout()
    with deployment.open() as session:
        known = session.history(table)
    if json:
        print_json([version.to_json() for version in known])
        return 0
    numbers = ("version", "id", "commits")
    headings = ("version", "id", "first commit", "last commit", "commits", "note")
    print_table(headings, [_version_row(version) for version in known], right=numbers)
    return 0


def _version_row(version: SubjectVersion) -> tuple[object, ...]:
    note = "not a version of the subject" if not version.version else "deleted" if version.deleted else ""
    first = version.first or "not read yet"
    return (version.version or None, version.schema_id, first, version.last, version.commits, note)


@app.command
def check(
    table: Annotated[str, table_parameter("A table.")],
    file: Annotated[
        Path | None,
        Parameter(
            help="Schema of the new value version, not registered yet: Avro as JSON.", show_default=False
        ),
    ] = None,
    /,
    *,
    key: Annotated[
        Path | None,
        Parameter(help="Schema of a new key version, to check alone or with FILE.", show_default=False),
    ] = None,
    registry_only: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Derive the table from the registered versions: needs neither lake nor Spark.",
        ),
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Check whether schemas could be the next versions: would the registry and the table accept them.

    For a producer's CI. Registers nothing. Exit code 1 if either refuses: if the registry finds a version
    incompatible, or a run would stop at a change.

    Example: `ingest schema check server1_dbo_customers customers.avsc --registry-only`
    """
    claim_stdout()
    with deployment.open() as session:
        result = session.check(table, file, key=key, registry_only=registry_only)
    if json:
        print_json(result.to_json())
    else:
        _print_check([path for path in (file, key) if path], result)
    return 0 if result.passes else 1


def _print_check(files: Sequence[Path], result: CompatibilityReport) -> None:
    for file, one in zip(files, result.checks, strict=True):
        against = one.against
        print_text(f"{file} against {one.subject} version {against.version} (id {against.id})")
        print_text()
        if one.changes:
            print_changes(one.changes)
            print_text()
        answer = "compatible" if one.verdict.compatible else "NOT compatible"
        print_text(f"registry ({one.level}): {answer}")
        for message in one.verdict.messages:
            print_text(message, indent=2)
    print_text("table: stops" if result.stops else "table: accepts it")
    for name in result.rewrites:
        print_text(f"{name} cannot be widened in place: the whole table is rewritten", indent=2)
    for failure in result.failures:
        print_error(str(failure))


def print_changes(changes: tuple[PlannedChange, ...]) -> None:
    """Print differences, each with its policy and the effect."""
    rows = [
        (change.change.column, change.change.kind, change.change.was, change.change.type,
         f"{change.policy}: {change.effect}")
        for change in changes
    ]  # fmt: skip
    headings = ("column", "change", "was", "is", "policy")
    print_table(headings, rows, elastic=("was", "is", "policy"))
