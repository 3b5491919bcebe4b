"""`ingest onboard`: registry subjects become table files."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from ingest.cli.options import Deployment
from ingest.cli.output import first_few, print_error, print_json, print_table, print_text, show_progress
from ingest.cli.page import CommandPage, Json
from ingest.errors import UsageError
from ingest.onboard.onboard import Onboarded
from ingest.tables import table_name

app = CommandPage(name="onboard", help_format="markdown")


@app.default
def onboard(
    *patterns: Annotated[str, Parameter(help="Globs over topic names, such as 'server1.*'.")],
    name: Annotated[
        str | None, Parameter(help="Template of table names: {server} {database} {schema} {table} {topic}.")
    ] = None,
    format: Annotated[  # noqa: A002  the contract's name
        Literal["avro", "debezium-json", "cdl-json"], Parameter(help="Format of the messages.")
    ] = "avro",
    schema: Annotated[
        Path | None,
        Parameter(
            help="Schema of JSON messages without one: a file of Avro, or of Kafka Connect's JSON.",
            show_default=False,
        ),
    ] = None,
    append: Annotated[
        bool,
        Parameter(
            negative=(),
            show_default=False,
            help="Keep every change as a row: for topics without keys, and for plain records.",
        ),
    ] = False,
    dry_run: Annotated[
        bool, Parameter(negative=(), show_default=False, help="Show the result, write nothing.")
    ] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Find the data topics that match, by their registry subjects, and write a table file for each.

    Finds JSON topics in the broker, and their schemas in their messages or in --schema FILE.

    Shows connector, key, columns and caveats of each table, and each skipped topic with the reason. Keeps
    every edit in a file that exists. Exit code 1 if a data topic cannot be onboarded.

    Example: `ingest onboard 'server1.testDB.*' --name '{schema}_{table}' --dry-run`
    """
    if not patterns:
        raise UsageError("onboard needs a pattern over topic names", "All topics: ingest onboard '*'")
    with deployment.open() as session, show_progress() as progress:
        progress("", "reading schemas")
        topics = session.onboard(
            patterns, name=name, format=format, schema=schema, append=append, dry_run=dry_run
        )
    if json:
        print_json([_to_json(topic) for topic in topics])
    else:
        _show(topics, dry_run=dry_run)
    failures = [topic for topic in topics if topic.state == "failed"]
    for topic in failures:
        print_error(f"{topic.topic}: {topic.reason}")
    return 1 if failures else 0


def _show(topics: tuple[Onboarded, ...], *, dry_run: bool) -> None:
    onboarded = {topic.table.name: topic for topic in topics if topic.table}
    if onboarded:
        rows = [_row(name, topic) for name, topic in onboarded.items()]
        print_table(("table", "topic", "connector", "key", "columns", "file"), rows,
                    right=("columns",), elastic=("key",))  # fmt: skip
    _show_caveats(onboarded)
    skipped = [(topic.topic, topic.reason) for topic in topics if topic.state == "left out"]
    if skipped:
        print_text()
        print_table(("skipped", "reason"), skipped, elastic=("reason",))
    print_text()
    print_text(_sum_up(onboarded, dry_run=dry_run))


def _row(name: str, topic: Onboarded) -> tuple[object, ...]:
    """Return a table's line; the topic only where the table's name does not follow from it."""
    shown = "" if name == table_name(topic.topic) else topic.topic
    dialect = topic.table.dialect if topic.table else ""
    return (name, shown, dialect, ", ".join(topic.key_columns), topic.columns, topic.state)


def _show_caveats(onboarded: Mapping[str, Onboarded]) -> None:
    """Print each caveat once, under the tables that it concerns."""
    tables_by_caveat: dict[str, list[str]] = {}
    for name, topic in onboarded.items():
        for caveat in topic.caveats:
            tables_by_caveat.setdefault(caveat, []).append(name)
    caveats_by_tables: dict[tuple[str, ...], list[str]] = {}
    for caveat, names in tables_by_caveat.items():
        caveats_by_tables.setdefault(tuple(names), []).append(caveat)
    for tables, caveats in sorted(caveats_by_tables.items(), key=lambda item: -len(item[0])):
        everywhere = len(tables) == len(onboarded) > 1
        print_text()
        print_text(f"Caveats for {f'all {len(onboarded)} tables' if everywhere else first_few(tables)}:")
        for caveat in caveats:
            print_text(f"- {caveat}", indent=2, hanging=2)


def _sum_up(onboarded: Mapping[str, Onboarded], *, dry_run: bool) -> str:
    if not onboarded:
        return "No table."
    folder = next(topic.path.parent for topic in onboarded.values() if topic.path)
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    states = Counter(topic.state for topic in onboarded.values())
    counts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    return f"Table files in {shown}/: {counts}" + (" (nothing was written: --dry-run)" if dry_run else "")


def _to_json(topic: Onboarded) -> dict[str, Any]:
    table = topic.table
    return {
        "topic": topic.topic,
        "state": topic.state,
        "reason": topic.reason or None,
        "table": table.name if table else None,
        "path": str(topic.path) if topic.path else None,
        "dialect": table.dialect if table else None,
        "key": list(topic.key_columns),
        "columns": topic.columns,
        "doubts": list(topic.caveats),
    }
