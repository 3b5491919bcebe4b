"""The page of all tables in numbers: a sentence for managers, totals, and the tables by their source."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

import attrs

from ingest.moments import write_duration
from ingest.names import Topic
from ingest.operations.pages.text import duration, rough
from ingest.operations.status.health import STATES, Bound, State, health
from ingest.operations.status.overview import COMMITS, TableOverview
from ingest.operations.status.remedies import by_trouble
from ingest.tables.naming import server_of


@attrs.frozen
class Group:
    """The tables of one source, the worst first.  `name` is empty for topics without a connector's prefix."""

    name: str
    tables: tuple[TableOverview, ...]


@attrs.frozen
class Totals:
    """Sums of the tables whose numbers are known."""

    rows: int
    waiting: int
    rejects: int
    changes: int
    is_more: bool
    """Whether older commits of the last day are not counted."""


def group_by_source(tables: Iterable[TableOverview], bound: Bound | None) -> tuple[Group, ...]:
    """Return the tables by source, the source with the worst table first."""
    groups: dict[str, list[TableOverview]] = {}
    for overview in sorted(tables, key=lambda overview: by_trouble(overview, bound)):
        groups.setdefault(source_of(overview), []).append(overview)
    return tuple(Group(name, tuple(members)) for name, members in groups.items())


def source_of(overview: TableOverview) -> str:
    """Return the prefix of the connector behind a table, empty if its topic does not show it."""
    if overview.status.connector is not None:
        return overview.status.connector.prefix
    return server_of(Topic(overview.status.topic.partition(",")[0]))


def sum_up(tables: Sequence[TableOverview], now: datetime) -> Totals:
    """Add up all tables, and the changes of the last day."""
    statuses, since = [overview.status for overview in tables], now - timedelta(days=1)
    return Totals(
        sum(status.rows or 0 for status in statuses),
        sum(status.lag or 0 for status in statuses),
        sum(status.rejects for status in statuses),
        sum(_changes(overview, since) for overview in tables),
        any(len(table.commits) == COMMITS and table.commits[-1].stored.at > since for table in tables),
    )


def _changes(overview: TableOverview, since: datetime) -> int:
    entries = (commit.entry for commit in overview.commits if commit.stored.at > since)
    counters = [entry.counters for entry in entries if entry]
    return sum(counts.get("upserted", 0) + counts.get("deleted", 0) for counts in counters)


def lead(tables: Sequence[TableOverview], now: datetime, bound: Bound | None) -> str:
    """Write the state of all tables as a sentence or two for someone who does not know any of them."""
    totals = sum_up(tables, now)
    changes = f"{'more than ' if totals.is_more else ''}{rough(totals.changes)} changes in 24 hours"
    times = [table.status.last.max_source_at for table in tables if table.status.last]
    newest = max((time for time in times if time is not None), default=None)
    data = (
        f"The newest data is {duration((now - newest).total_seconds())} old, with {changes}."
        if newest
        else ""
    )
    return " ".join(filter(None, (*_trouble(tables, bound), _proofs(tables, now), data)))


def _trouble(tables: Sequence[TableOverview], bound: Bound | None) -> Iterator[str]:
    states: list[State] = [
        found.state for table in tables if (found := health(table.status, bound)).exit_code
    ]
    counts = [f"{states.count(state):,} {state}" for state in STATES if state in states]
    if counts:
        yield f"{len(states):,} of {len(tables):,} tables need attention: {', '.join(counts)}."


def _proofs(tables: Sequence[TableOverview], now: datetime) -> str:
    verifications = [table.status.verification for table in tables]
    proofs = [last.finished_at for last in verifications if last is not None and last.is_proof]
    text = f"{len(proofs):,} of {len(tables):,} tables are proven equal to their source"
    if not proofs:
        return f"{text}."
    age = write_duration((now - min(proofs)).total_seconds())
    return f"{text}, the oldest proof {age} ago."
