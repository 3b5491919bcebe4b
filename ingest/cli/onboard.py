"""`ingest onboard`: registry subjects become table files."""

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import print_error, print_json, print_table, print_text

if TYPE_CHECKING:
    from ingest.run.onboard import Onboarded


def onboard(
    *patterns: Annotated[str, Parameter(help="Globs over topic names, such as 'server1.*'.")],
    name: Annotated[
        str | None, Parameter(help="Template of table names: {server} {database} {schema} {table} {topic}.")
    ] = None,
    dry_run: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show it, write nothing.")
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Find the data topics that match, by their registry subjects, and write a table file for each.

    Shows what was found (connector, key, columns, doubts) and what was left out and why. A file that is
    there already keeps every edit. Exit code 1 if a data topic cannot be onboarded.

    Example: `ingest onboard 'server1.testDB.*' --name '{schema}_{table}' --dry-run`
    """
    from ingest.errors import UsageError  # noqa: PLC0415  light start

    if not patterns:
        raise UsageError("onboard needs a pattern over topic names", "All topics: ingest onboard '*'")
    with deployment.open() as session:
        found = session.onboard(patterns, name=name, dry_run=dry_run)
    if json:
        print_json([_to_json(one) for one in found])
    else:
        _show(found, dry_run=dry_run)
    failures = [one for one in found if one.state == "failed"]
    for one in failures:
        print_error(f"{one.topic}: {one.reason}")
    return 1 if failures else 0


def _show(found: "tuple[Onboarded, ...]", *, dry_run: bool) -> None:
    tables = [one for one in found if one.table]
    if tables:
        rows = [_row(one) for one in tables]
        print_table(("topic", "connector", "key", "columns", "table file", ""), rows, right=("columns",))
    for one in tables:
        for doubt in one.doubts:
            print_text(f"  {one.table.table if one.table else ''}: {doubt}")
    others = [(one.topic, one.reason) for one in found if one.state == "left out"]
    if others:
        print_text()
        print_table(("left out", "because it is"), others)
    if dry_run:
        print_text("Nothing was written (--dry-run).")


def _row(one: "Onboarded") -> tuple[object, ...]:
    table = one.table
    dialect = table.dialect if table else ""
    return (
        one.topic,
        dialect,
        ", ".join(one.key_columns),
        one.columns,
        one.path and one.path.name,
        one.state,
    )


def _to_json(one: "Onboarded") -> dict[str, Any]:
    table = one.table
    return {
        "topic": one.topic,
        "state": one.state,
        "reason": one.reason or None,
        "table": table.table if table else None,
        "path": str(one.path) if one.path else None,
        "dialect": table.dialect if table else None,
        "key": list(one.key_columns),
        "columns": one.columns,
        "doubts": list(one.doubts),
    }
