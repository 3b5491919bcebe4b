"""The commits of a table as its people read them, and the state that it had at a time."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

import attrs

from ingest.errors import IngestError, UsageError
from ingest.hudi.stored_table import StoredTable
from ingest.hudi.timeline.ledger import TABLE_SERVICES, CommitKind, LedgerEntry
from ingest.hudi.timeline.stored_commit import StoredCommit
from ingest.json_values import JsonValue
from ingest.log import logger
from ingest.moments import iso_or_none, parse_moment, to_iso
from ingest.names import Partition, SchemaId, Topic
from ingest.report.outcome import by_text
from ingest.run.work.context import Context
from ingest.sql.template import Sql, ident, literal, sql
from ingest.tables import TableConfig

T = TypeVar("T")


@attrs.frozen
class Commit(JsonValue):
    """A commit, and the offsets that the table's account had before it, empty if they are unknown."""

    stored: StoredCommit
    before: Mapping[Partition, int] = attrs.Factory(dict)

    @property
    def entry(self) -> LedgerEntry | None:
        """The account, or None for table services and other writers."""
        return self.stored.entry

    @property
    def kind(self) -> CommitKind | Literal["table-service", "other-writer"]:
        """The command behind the commit, or its writer."""
        if self.entry is not None:
            return self.entry.kind
        return "table-service" if self.stored.operation in TABLE_SERVICES else "other-writer"

    @property
    def schema_ids(self) -> tuple[SchemaId, ...]:
        """The schemas of the messages, empty for commits without messages, which repeat earlier ones."""
        return self.entry.schema_ids if self.entry and self.entry.kind in ("run", "replay") else ()

    def ranges(self) -> dict[Partition, tuple[int | None, int]]:
        """Return the partitions whose offset the commit moved: from, None if unknown, and to."""
        ends = self.entry.next_offsets if self.entry else {}
        moves = {partition: (self.before.get(partition), end) for partition, end in sorted(ends.items())}
        return {partition: move for partition, move in moves.items() if move[0] != move[1]}

    def to_json(self) -> dict[str, Any]:
        """Return the commit as JSON, with the names of the run report."""
        entry, stored = self.entry, self.stored
        counters = dict(entry.counters) if entry else {}
        return {
            "instant": stored.instant,
            "committed_at": to_iso(stored.at),
            "kind": self.kind,
            "operation": stored.operation.lower(),
            "run_id": entry.run_id if entry else None,
            "note": (entry.note or None) if entry else None,
            "offsets": {"from": by_text(self.before), "to": by_text(entry.next_offsets) if entry else {}},
            **({"topic": entry.topic} if entry and entry.other_topics else {}),
            "read": counters.get("read", 0),
            "applied": {name: counters.get(name, 0) for name in ("upserted", "deleted")},
            "superseded": counters.get("superseded", 0),
            "ignored": {
                name.removeprefix(_IGNORED): count
                for name, count in counters.items()
                if name.startswith(_IGNORED)
            },
            "rejected": counters.get("rejected", 0),
            "schema_ids": list(self.schema_ids),
            "max_source_ts": iso_or_none(entry.max_source_at) if entry else None,
            "read_seconds": stored.read_seconds,
            "commit_seconds": stored.seconds,
            "files": len(stored.files),
            "bytes": stored.bytes,
        }


_IGNORED: Final = "ignored."


@attrs.frozen
class TableHistory(JsonValue):
    """The commits of a table, newest first.

    `is_cut`: Hudi has archived older commits, which are missing here and may be younger than `since`.
    """

    json_keys = "table topic path since older_commits_archived=is_cut commits"

    table: str
    topic: Topic
    path: str
    commits: tuple[Commit, ...]
    since: datetime | None = None
    is_cut: bool = False


@attrs.frozen
class TableState(JsonValue):
    """A table at a time: the commit that readers saw then, and the number of rows."""

    json_keys = "table path at rows commit sql=statements python"

    table: str
    path: str
    at: datetime
    commit: Commit
    rows: int
    database: str = ""
    """The catalog's database, if the settings name one."""

    @property
    def sql(self) -> str:
        """The query of that state in Spark SQL."""
        instant = literal(self.commit.stored.instant)
        return str(sql("SELECT * FROM {name} TIMESTAMP AS OF {instant}", name=self._name, instant=instant))

    @property
    def create_sql(self) -> str:
        """The statement that makes the table known to Spark SQL, or empty if a catalog knows it."""
        if self.database:
            return ""
        path = literal(self.path)
        return str(sql("CREATE TABLE {name} USING hudi LOCATION {path}", name=self._name, path=path))

    @property
    def statements(self) -> tuple[str, ...]:
        """The query, after the statement that it needs."""
        return tuple(filter(None, (self.create_sql, self.sql)))

    @property
    def _name(self) -> Sql:
        name = ident(self.table)
        return sql("{database}.{name}", database=ident(self.database), name=name) if self.database else name

    @property
    def python(self) -> str:
        """The same query for pyspark."""
        instant = self.commit.stored.instant
        return f'spark.read.format("hudi").option("as.of.instant", "{instant}").load({self.path!r})'


def read_history(run: Context, table: TableConfig, since: datetime | None, *, archived: bool) -> TableHistory:
    """Read the commits of a table, without a JVM if its files are conclusive.  Archived ones need Spark."""
    if archived:
        path = run.lake.table(table).path
        commits, is_cut = run.lake.table(table).commits(archived=True), False
    else:
        path, commits, is_cut = _ask(
            run, table, lambda stored: (stored.path, stored.commits(), stored.has_archive())
        )
    reaches_back = bool(since and commits and commits[-1].at < since)
    recent = tuple(commit for commit in in_order(commits) if since is None or commit.stored.at >= since)
    topic = Topic(",".join(table.topics) or table.topic)
    return TableHistory(table.name, topic, path, recent, since, is_cut and not reaches_back)


def read_state(run: Context, table: TableConfig, at: datetime) -> TableState:
    """Find the commit that readers of a table saw at a time, and count its rows.

    Raises UsageError for a time before the first commit, or one whose files are cleaned.
    """

    def find(stored: StoredTable) -> tuple[Commit, int]:
        commits = in_order(stored.commits())
        commit = next((commit for commit in commits if commit.stored.at <= at), None)
        if commit is None:
            raise _too_early(stored, at, commits)
        is_newest = commit is commits[0]
        return commit, stored.count_rows(None if is_newest else commit.stored.instant)

    commit, rows = _ask(run, table, find)
    lake = run.settings.lake
    return TableState(table.name, lake.table_path(table.name), at, commit, rows, lake.database)


def in_order(commits: Sequence[StoredCommit]) -> tuple[Commit, ...]:
    """Pair commits, newest first, with the offsets before each."""
    paired: list[Commit] = []
    last: LedgerEntry | None = None
    for stored in reversed(commits):
        before = last.seen_by(stored.entry.topic).next_offsets if last and stored.entry else {}
        paired.append(Commit(stored, before))
        last = stored.entry or last
    return tuple(reversed(paired))


def parse_time(option: str, text: str) -> datetime:
    """Read a time: ISO-8601, in UTC without a zone, or a duration before now.  Raises UsageError."""
    moment = parse_moment(text)
    if moment is None:
        todo = "Give 2026-11-20T08:00 or 1d: a time, in UTC without a zone, or a duration before now"
        raise UsageError(f"{option} {text}: not a time", todo)
    return moment


def _ask(run: Context, table: TableConfig, ask: Callable[[StoredTable], T]) -> T:
    """Ask the files of a table, and Hudi's classes if they are not conclusive."""
    try:
        return ask(run.files.table(table))
    except IngestError:
        raise
    except Exception as error:  # noqa: BLE001  Spark looks at the table, and names what is wrong
        logger(__name__).debug("files.unclear", table=table.name, problem=str(error))
    return ask(run.lake.table(table))


def _too_early(stored: StoredTable, at: datetime, commits: Sequence[Commit]) -> UsageError:
    """Return the error for a time before the oldest commit."""
    if not commits:
        return UsageError(f"lake {stored.path}: the table does not have a commit yet", "Run it once first")
    oldest = f"the oldest commit is of {to_iso(commits[-1].stored.at)}"
    if stored.has_archive():
        todo = "hoodie.clean.commits.retained and hoodie.keep.min.commits in [hudi] keep more commits"
        return UsageError(f"lake {stored.path}: {oldest} in the active timeline, after {to_iso(at)}", todo)
    return UsageError(f"lake {stored.path}: {oldest}, after {to_iso(at)}", "Give a later time")
