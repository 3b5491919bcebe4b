"""What the tables hold, how far behind they are, and deliberate moves of their offsets."""

import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from ingest.errors import IngestError, OffsetError, UsageError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import history as read_history
from ingest.hudi.lock import locked
from ingest.hudi.present import count_rows, record_keys
from ingest.hudi.rejects import count_open
from ingest.hudi.upsert import record
from ingest.kafka.breaks import Watermark, check_topic, is_created_again, topic_id_of
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition, Topic
from ingest.operations.source_ddl import SourceChange, read_changes
from ingest.registry import Registry
from ingest.run.commit import consumed, pending
from ingest.run.lag import source_lag_s, to_iso, to_moment
from ingest.run.report import by_text
from ingest.settings import Settings
from ingest.tables import TableConfig


@attrs.frozen
class TableStatus:
    """A table's last commit against its topic.

    `lag` is in offsets, None where the topic has no end; `source_lag_s` in seconds, from the newest change
    that the table holds until now, 0 where nothing is left to read, None where no change told its time.
    """

    table: str
    topic: Topic
    path: str
    last: LedgerEntry | None
    lag: int | None
    rows: int | None = None
    rejects: int = 0
    """Open rejects."""
    source_lag_s: float | None = None
    error: str = ""
    changes: tuple[SourceChange, ...] = ()
    """The newest schema changes at the source, where the table file names their topic."""

    def to_json(self) -> dict[str, Any]:
        """Return the status as JSON."""
        last = self.last
        return {
            "table": self.table,
            "topic": self.topic,
            "path": self.path,
            "instant": last.instant if last else None,
            "kind": last.kind if last else None,
            "note": last.note if last else None,
            "offsets": by_text(last.next_offsets) if last else {},
            "lag": self.lag,
            "rows": self.rows,
            "rejects": self.rejects,
            "source_lag_s": self.source_lag_s,
            "committed_at": to_iso(to_moment(last.committed_ms)) if last else None,
            "max_source_ts": to_iso(to_moment(last.max_source_ms)) if last else None,
            "schema_ids": list(last.schema_ids) if last else [],
            "last_run": dict(last.counters) if last else {},
            "error": self.error or None,
            "source_changes": [
                {"at": to_iso(one.at), "kind": one.kind, "ddl": one.ddl or None, "columns": list(one.columns)}
                for one in self.changes
            ],
        }


def read_status(
    settings: Settings, spark: SparkSession, registry: Registry, tables: Sequence[TableConfig]
) -> tuple[TableStatus, ...]:
    """Read every table's last commit, its topic's ends and, where the file names them, schema changes."""
    kafka = settings.kafka
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic for table in tables])
    found = [
        _status(settings, spark, table, marks.found.get(table.topic), marks.errors.get(table.topic))
        for table in tables
    ]
    return tuple(
        attrs.evolve(one, changes=read_changes(settings, registry, table))
        for one, table in zip(found, tables, strict=True)
    )


def _status(
    settings: Settings,
    spark: SparkSession,
    table: TableConfig,
    marks: Mapping[Partition, Watermark] | None,
    error: IngestError | None,
) -> TableStatus:
    path = settings.lake.table_path(table.name)
    entries = read_history(spark, path, 1)
    last = entries[0] if entries else None
    lag = None
    if marks is not None:
        try:
            lag = pending(table, last, marks, None).span
        except OffsetError as broken:
            error = broken
    return TableStatus(
        table.name,
        table.topic,
        path,
        last,
        lag,
        rows=count_rows(spark, path) if last else None,
        rejects=count_open(settings, spark, table) if last else 0,
        source_lag_s=source_lag_s(to_moment(last.max_source_ms) if last else None, lag),
        error=str(error) if error else "",
    )


def move_offsets(settings: Settings, spark: SparkSession, table: TableConfig, to: str) -> TableStatus:
    """Move a table's next offsets, in a commit of their own, so that the table's history tells of it.

    `to` is `earliest`, `latest`, or partitions with either or an offset: `0=120,1=earliest` (others stay).
    Rows stay as they are.  A move back makes the next run replay at least up to where the table stood.
    """
    run_id = str(uuid.uuid4())
    with locked(spark, settings.lake, table.name, run_id, settings.run.lock_wait_s):
        return _move(settings, spark, table, to, run_id)


def _move(settings: Settings, spark: SparkSession, table: TableConfig, to: str, run_id: str) -> TableStatus:
    """Move the offsets of a table that nobody else writes."""
    kafka = settings.kafka
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic]).of(table.topic)
    path = settings.lake.table_path(table.name)
    entries = read_history(spark, path, 1)
    if not entries:
        raise UsageError(f"table {table.name} has no commit yet", "Run it once first")
    last = entries[0]
    check_topic(table.topic, consumed(table, last))
    is_anew = is_created_again(last.topic_id, marks)
    offsets = parse_move(to, {} if is_anew else last.next_offsets, marks, is_anew=is_anew)
    # Of another topic nothing was applied yet.
    high = offsets if is_anew else {p: min(last.high_offsets.get(p, 0), marks[p].end) for p in offsets}
    entry = attrs.evolve(
        last,
        run_id=run_id,
        next_offsets=offsets,
        high_offsets=high,
        counters={},
        kind="set-offsets",
        note=_note(to, last.next_offsets, offsets, is_anew=is_anew),
        topic_id=topic_id_of(marks),
        instant=None,
    )
    record(spark, table, path, record_keys(spark, path), entry)
    return _status(settings, spark, table, marks, None)


def parse_move(
    to: str, current: Mapping[Partition, int], marks: Mapping[Partition, Watermark], *, is_anew: bool = False
) -> dict[Partition, int]:
    """Return the offsets that a move means; raises `UsageError` for one that is not inside the topic."""
    if to in _ENDS:
        return {p: _end(to, mark) for p, mark in marks.items()}
    moved = {p: offset for p, offset in current.items() if p in marks}
    for part in to.split(","):
        partition, equals, offset = (one.strip() for one in part.partition("="))
        if not (equals and _is_number(partition) and (_is_number(offset) or offset in _ENDS)):
            raise UsageError(f"--to {to}: '{part}' is no move", "Give earliest, latest, or 0=120,1=earliest")
        number = Partition(int(partition))
        mark = marks.get(number)
        if mark is None:
            allowed = f"Allowed: partitions {_ends(marks)}"
            raise UsageError(f"--to {to}: '{part}' is outside the topic", allowed)
        moved[number] = _end(offset, mark) if offset in _ENDS else int(offset)
        if not mark.begin <= moved[number] <= mark.end:
            allowed = f"Allowed: {mark.begin} to {mark.end}"
            raise UsageError(f"--to {to}: '{part}' is outside the topic", allowed)
    if is_anew and moved.keys() != marks.keys():
        todo = f"Name every partition ({_ends(marks)}), or give earliest or latest"
        raise UsageError(f"--to {to}: the topic was created anew, and not all of it is named", todo)
    return moved


_ENDS: Final = ("earliest", "latest")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _end(which: str, mark: Watermark) -> int:
    return mark.begin if which == "earliest" else mark.end


def _ends(marks: Mapping[Partition, Watermark]) -> str:
    return ", ".join(f"{p}={mark.begin} to {mark.end}" for p, mark in sorted(marks.items()))


def _note(to: str, was: Mapping[Partition, int], now: Mapping[Partition, int], *, is_anew: bool) -> str:
    """Say for the table's history what was moved, and what no run will ever read."""
    note = f"moved to {to}; was {_text(was)}"
    if is_anew:
        return f"{note} of a topic that was created anew since"
    passed = sum(max(0, offset - was.get(p, 0)) for p, offset in now.items())
    return f"{note}; {passed} offsets passed over" if passed else note


def _text(offsets: Mapping[Partition, int]) -> str:
    return ",".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
