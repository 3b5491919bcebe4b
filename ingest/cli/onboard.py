"""`ingest onboard`: registry subjects become table files."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from ingest.cli.options import Deployment, Json
from ingest.cli.output import print_error, print_json, print_table, print_text, show_progress, some

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ingest.onboard.onboard import Onboarded


def onboard(
    *patterns: Annotated[str, Parameter(help="Globs over topic names, such as 'server1.*'.")],
    name: Annotated[
        str | None, Parameter(help="Template of table names: {server} {database} {schema} {table} {topic}.")
    ] = None,
    format: Annotated[  # noqa: A002  the contract's name
        Literal["avro", "debezium-json", "cdl-json"], Parameter(help="How messages are written.")
    ] = "avro",
    schema: Annotated[
        Path | None,
        Parameter(
            help="Schema of JSON messages that hold none: Avro, or Kafka Connect's JSON.", show_default=False
        ),
    ] = None,
    append: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Keep every change as a row: for topics without keys, and for those of other records.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show it, write nothing.")
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Find the data topics that match, by their registry subjects, and write a table file for each.

    JSON topics are found in the broker, and their schemas in their messages, or in --schema FILE.

    Shows what was found (connector, key, columns, doubts) and what was left out and why. A file that is
    there already keeps every edit. Exit code 1 if a data topic cannot be onboarded.

    Example: `ingest onboard 'server1.testDB.*' --name '{schema}_{table}' --dry-run`
    """
    from ingest.errors import UsageError  # noqa: PLC0415  light start

    if not patterns:
        raise UsageError("onboard needs a pattern over topic names", "All topics: ingest onboard '*'")
    with deployment.open() as session, show_progress() as progress:
        progress("", "reading schemas")
        found = session.onboard(
            patterns, name=name, format=format, schema=schema, append=append, dry_run=dry_run
        )
    if json:
        print_json([_to_json(one) for one in found])
    else:
        _show(found, dry_run=dry_run)
    failures = [one for one in found if one.state == "failed"]
    for one in failures:
        print_error(f"{one.topic}: {one.reason}")
    return 1 if failures else 0


def _show(found: "tuple[Onboarded, ...]", *, dry_run: bool) -> None:
    made = {one.table.name: one for one in found if one.table}
    if made:
        rows = [_row(name, one) for name, one in made.items()]
        print_table(("table", "topic", "connector", "key", "columns", "file"), rows,
                    right=("columns",), elastic=("key",))  # fmt: skip
    _show_doubts(made)
    left_out = [(one.topic, one.reason) for one in found if one.state == "left out"]
    if left_out:
        print_text()
        print_table(("left out", "because it is"), left_out, elastic=("because it is",))
    print_text()
    print_text(_sum_up(made, dry_run=dry_run))


def _row(name: str, one: "Onboarded") -> tuple[object, ...]:
    """Return a table's line; the topic only where the name does not tell it."""
    from ingest.tables import table_name  # noqa: PLC0415  light start

    topic = "" if name == table_name(one.topic) else one.topic
    dialect = one.table.dialect if one.table else ""
    return (name, topic, dialect, ", ".join(one.key_columns), one.columns, one.state)


def _show_doubts(made: "Mapping[str, Onboarded]") -> None:
    """Print each doubt once, under the tables that it concerns."""
    concerned: dict[str, list[str]] = {}
    for name, one in made.items():
        for caveat in one.caveats:
            concerned.setdefault(caveat, []).append(name)
    caveats: dict[tuple[str, ...], list[str]] = {}
    for caveat, names in concerned.items():
        caveats.setdefault(tuple(names), []).append(caveat)
    for tables, told in sorted(caveats.items(), key=lambda item: -len(item[0])):
        everywhere = len(tables) == len(made) > 1
        print_text()
        print_text(f"Known of {f'all {len(made)} tables' if everywhere else some(tables)}:")
        for caveat in told:
            print_text(f"- {caveat}", indent=2, hanging=2)


def _sum_up(made: "Mapping[str, Onboarded]", *, dry_run: bool) -> str:
    if not made:
        return "No table."
    folder = next(one.path.parent for one in made.values() if one.path)
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    states = Counter(one.state for one in made.values())
    counts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    return f"Table files in {shown}/: {counts}" + (" (nothing was written: --dry-run)" if dry_run else "")


def _to_json(one: "Onboarded") -> dict[str, Any]:
    table = one.table
    return {
        "topic": one.topic,
        "state": one.state,
        "reason": one.reason or None,
        "table": table.name if table else None,
        "path": str(one.path) if one.path else None,
        "dialect": table.dialect if table else None,
        "key": list(one.key_columns),
        "columns": one.columns,
        "doubts": list(one.caveats),
    }
