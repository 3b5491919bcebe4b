"""`ingest onboard`: registry subjects become table files."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from cyclopts import Parameter

from ingest.cli.display import show_progress
from ingest.cli.options import EXPERT, Deployment, parse_readers
from ingest.cli.output import claim_stdout, print_error, print_json, print_table, print_text
from ingest.cli.page import CommandPage, Json
from ingest.errors import UsageError
from ingest.names import first_few
from ingest.onboard.outcome import Onboarded
from ingest.tables import table_name

app = CommandPage(name="onboard", help_format="markdown")


@app.default
def onboard(
    *patterns: Annotated[str, Parameter(help="Globs over topic names, such as 'server1.*'.")],
    name: Annotated[
        str | None,
        Parameter(
            help="Template of table names, with {server} {database} {schema} {table} {topic}. By default "
            "[onboard] name, else {topic} with '_' for other characters."
        ),
    ] = None,
    format: Annotated[  # noqa: A002  the contract's name
        Literal["avro", "debezium-json", "cdl-json"], Parameter(help="Format of the messages.")
    ] = "avro",
    schema: Annotated[
        Path | None,
        Parameter(
            help="Schema of JSON messages without one: a file of Avro, or of Kafka Connect's JSON.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        Parameter(
            group=EXPERT,
            help="Columns that identify a row, such as id,region: for topics without keys.",
        ),
    ] = None,
    readers: Annotated[
        str | None,
        Parameter(
            help="Readers of these tables, comma separated, such as trino,daft, or any. By default [onboard] "
            "readers.",
        ),
    ] = None,
    append: Annotated[
        bool,
        Parameter(
            group=EXPERT,
            negative=(),
            help="Keep every change as a row: for topics without keys, and for plain records.",
        ),
    ] = False,
    merge: Annotated[
        bool,
        Parameter(
            group=EXPERT,
            negative=(),
            help="Make one table of all topics with the same table name: shards, with --name '{table}'.",
        ),
    ] = False,
    split: Annotated[
        bool,
        Parameter(
            group=EXPERT,
            negative=(),
            help="Make a table of each source table in a topic of several, as a router writes it. Reads all "
            "messages, with Spark.",
        ),
    ] = False,
    exclude: Annotated[
        tuple[str, ...],
        Parameter(negative=(), help="Glob over topics to leave out (repeatable)."),
    ] = (),
    check: Annotated[
        bool,
        Parameter(
            negative=(),
            help="Write nothing, and fail unless each topic has its file and each file its topic: for CI.",
        ),
    ] = False,
    dry_run: Annotated[bool, Parameter(negative=(), help="Show the result, write nothing.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Find the data topics that match, by their registry subjects, and write a table file for each.

    Finds JSON topics in the broker, and their schemas in their messages or in --schema FILE.

    A topic that has a table file keeps its table. A topic with the table name of another is refused.

    Shows connector, key, columns and caveats of each table, and each skipped topic with the reason. Keeps
    every edit in a file that exists. Exit code 1 if a data topic cannot be onboarded, or one that
    is named without wildcards is skipped.

    With --split writes a file for each table that has none yet, with its `source_table`.

    Example: `ingest onboard 'server1.testDB.*' --name '{schema}_{table}' --dry-run`
    """
    if not patterns:
        raise UsageError("onboard needs a pattern over topic names", "All topics: ingest onboard '*'")
    if split:
        claim_stdout()
    with deployment.open() as session, show_progress() as progress:
        progress("", "reading schemas")
        topics = session.onboard(
            patterns,
            name=name,
            format=format,
            schema=schema,
            readers=parse_readers(readers) if readers else (),
            append=append,
            key=_columns(key),
            merge=merge,
            split=split,
            exclude=exclude,
            check=check,
            dry_run=dry_run,
            progress=progress,
        )
    unwritten = "--check" if check else "--dry-run" if dry_run else ""
    if json:
        print_json([_to_json(topic) for topic in topics])
    else:
        _show(topics, unwritten)
    return _exit_code(topics, patterns, unwritten)


def _exit_code(topics: Sequence[Onboarded], patterns: Sequence[str], unwritten: str) -> int:
    """Print the problems, and return 1 if there is one."""
    problems = [topic for topic in topics if _is_problem(topic, patterns)]
    for topic in problems:
        print_error(f"{topic.origin}: {topic.reason}")
    lacking = [topic.origin for topic in topics if topic.state in ("new", "completed")]
    if unwritten != "--check":
        lacking = []
    if lacking:
        print_error(f"--check: without an up-to-date table file: {first_few(lacking)}. Run `ingest onboard`")
    return 1 if problems or lacking else 0


def _columns(key: str | None) -> tuple[str, ...]:
    """Split the columns of --key."""
    if key is None:
        return ()
    columns = tuple(column.strip() for column in key.split(","))
    if not all(columns):
        raise UsageError(f"--key {key}: holds an empty column name", "Give columns such as id,region")
    return columns


def _is_problem(topic: Onboarded, patterns: Sequence[str]) -> bool:
    """Return whether a topic failed, or was left out although it was asked for by its name."""
    is_named = topic.topic in patterns and not topic.source_table
    return topic.state in ("failed", "orphaned") or (topic.state == "left out" and is_named)


def _show(topics: tuple[Onboarded, ...], unwritten: str) -> None:
    """Print the results. `unwritten` is the option that kept the files from being written."""
    onboarded = {topic.table.name: topic for topic in topics if topic.table}
    tabled = [topic for topic in topics if topic.table or topic.state in ("failed", "orphaned")]
    if tabled:
        rows = [_row(topic) for topic in tabled]
        print_table(("table", "topic", "connector", "key", "columns", "file"), rows,
                    right=("columns",), elastic=("key",))  # fmt: skip
    if unwritten != "--check":
        _show_caveats(onboarded)
    skipped = [(topic.origin, topic.reason) for topic in topics if topic.state == "left out"]
    if skipped:
        print_text()
        print_table(("skipped", "reason"), skipped, elastic=("reason",))
    print_text()
    print_text(_sum_up(tabled, unwritten))


def _row(topic: Onboarded) -> tuple[object, ...]:
    """Return a table's line, or a failed topic's. The topic appears only if the table's name hides it."""
    if topic.table is None:
        return ("", _shortened(topic.origin), "", "", "", topic.state)
    name = topic.table.name
    shown = "" if name == table_name(topic.topic) else _shortened(topic.origin)
    return (
        _shortened(name),
        shown,
        topic.table.dialect,
        ", ".join(topic.key_columns),
        topic.columns,
        topic.state,
    )


_LONGEST_NAME: Final = 60
"""The characters of a name in the table: one long name would turn every row into a block of lines."""


def _shortened(name: str) -> str:
    half = _LONGEST_NAME // 2
    return name if len(name) <= _LONGEST_NAME else f"{name[: half - 1]}…{name[-half:]}"


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


def _sum_up(topics: Sequence[Onboarded], unwritten: str) -> str:
    """Count the topics by their state, failed ones included."""
    states = Counter(topic.state for topic in topics)
    counts = ", ".join(f"{number:,} {state}" for state, number in states.items())
    folder = next((topic.path.parent for topic in topics if topic.path), None)
    if folder is None:
        return f"No table: {counts}." if counts else "No table."
    shown = folder.relative_to(Path.cwd()) if folder.is_relative_to(Path.cwd()) else folder
    return f"Table files in {shown}/: {counts}" + (
        f" (nothing was written: {unwritten})" if unwritten else ""
    )


def _to_json(topic: Onboarded) -> dict[str, Any]:
    table = topic.table
    return {
        "topic": topic.topic,
        "source_table": topic.source_table or None,
        "state": topic.state,
        "reason": topic.reason or None,
        "table": table.name if table else None,
        "path": str(topic.path) if topic.path else None,
        "dialect": table.dialect if table else None,
        "key": list(topic.key_columns),
        "columns": topic.columns,
        "doubts": list(topic.caveats),  # the name of earlier versions, for scripts
        "caveats": list(topic.caveats),
    }
