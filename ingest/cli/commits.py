"""`ingest commits`: the commits of a table, and its state at a time."""

from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, print_json, print_page, print_table, print_text
from ingest.cli.page import CommandPage, Json
from ingest.errors import UsageError
from ingest.moments import to_iso
from ingest.operations.status import history as histories

if TYPE_CHECKING:
    from datetime import datetime

    from ingest.operations.status.history import Commit, TableHistory, TableState

app = CommandPage(name="commits", help_format="markdown")

_SHOWN_PARTITIONS: Final = 3
_RUN_ID: Final = 8
"""Characters of a run id in a table. JSON shows the whole id."""


@app.default
def commits(
    table: Annotated[str, table_parameter("The table.")],
    /,
    *,
    since: Annotated[
        str | None, Parameter(help="Only commits since then: a time in UTC, or a duration (1d, 90m).")
    ] = None,
    at: Annotated[
        str | None, Parameter(help="Show the state at that time: rows, and how to query it.")
    ] = None,
    archived: Annotated[bool, Parameter(negative=(), help="Also read Hudi's archive, with Spark.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show the commits of a table, newest first: time, offsets, rows, schema ids, duration and run.

    The seconds cover reading, decoding and committing. `--json` has them apart.

    Example: `ingest commits server1_dbo_customers --since 1d`
    """
    if at is not None and (since is not None or archived):
        raise UsageError("--at goes with neither --since nor --archived", "Give --at only")
    begin = None if since is None else histories.parse_time("--since", since)
    moment = None if at is None else histories.parse_time("--at", at)
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        result: TableHistory | TableState
        if moment is not None:
            result = session.state_at(table, moment, progress=progress)
        else:
            result = session.commits(table, since=begin, archived=archived, progress=progress)
    if json:
        print_json(result.to_json())
    else:
        _print_state(result) if isinstance(result, histories.TableState) else _print_history(result)
    return 0


def _print_history(result: "TableHistory") -> None:
    since = f" since {_time(result.since)} UTC" if result.since else ""
    count = f"{len(result.commits):,} {'commit' if len(result.commits) == 1 else 'commits'}"
    print_text(f"{result.table} from topic {result.topic}: {count}{since}", hanging=2)
    if result.commits:
        print_text()
        numbers = ("upserted", "deleted", "rejects", "seconds")
        headings = ("committed (UTC)", "offsets", *numbers, "schemas", "run", "note")
        rows = [_row(commit) for commit in result.commits]
        print_table(headings, rows, right=numbers, elastic=("schemas", "offsets", "note"))
    if result.is_cut:
        print_text()
        print_text(f"Older commits are in Hudi's archive: `ingest commits {result.table} --archived`")


def _row(commit: "Commit") -> tuple[object, ...]:
    """Return a commit's line. Counts of 0 are left out, and so are columns without any count."""
    stored, entry = commit.stored, commit.entry
    counters = entry.counters if entry else {}
    kind = stored.operation.lower() if entry is None else "" if entry.kind == "run" else entry.kind
    if commit.kind == "other-writer":
        kind = f"{kind} by another writer"
    return (
        f"{stored.at:%Y-%m-%d %H:%M}",
        ranges_text(commit),
        *(counters.get(name) or None for name in ("upserted", "deleted", "rejected")),
        f"{(stored.read_seconds or 0) + stored.seconds:.1f}",
        ", ".join(map(str, commit.schema_ids)),
        entry.run_id[:_RUN_ID] if entry else "",
        ": ".join(filter(None, (kind, entry.note if entry else ""))),
    )


def ranges_text(commit: "Commit") -> str:
    """Write the offsets that a commit moved, of the first partitions: `0: 100-250`."""
    ranges = commit.ranges()
    texts = [f"{p}: {'up to ' if start is None else f'{start}-'}{end}" for p, (start, end) in ranges.items()]
    hidden = len(texts) - _SHOWN_PARTITIONS
    topic = f"{commit.entry.topic} " if ranges and commit.entry and commit.entry.other_topics else ""
    return topic + ", ".join(texts[:_SHOWN_PARTITIONS]) + (f" and {hidden} partitions" if hidden > 0 else "")


def _print_state(state: "TableState") -> None:
    stored = state.commit.stored
    seen = f"commit {stored.instant}, visible since {_time(stored.at)} UTC"
    print_text(f"{state.table} at {to_iso(state.at)}: {state.rows:,} rows ({seen})", hanging=2)
    print_text()
    print_text("Spark SQL:")
    for statement in filter(None, (state.create_sql, state.sql)):
        print_page("  " + statement.replace(" LOCATION ", "\n    LOCATION ", 1) + ";")
    print_text("Python:")
    print_page("  " + state.python.replace(".load(", ".load(\n      ", 1))


def _time(moment: "datetime") -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}"
