"""What the tables hold, how far behind they are, and deliberate moves of their offsets."""

import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
from pyspark.sql import SparkSession

from ingest.errors import IngestError, UsageError
from ingest.hudi.ledger import LedgerEntry
from ingest.hudi.ledger import history as read_history
from ingest.hudi.present import count_rows, record_keys
from ingest.hudi.upsert import record
from ingest.kafka.ranges import Watermark
from ingest.kafka.watermarks import fetch_watermarks
from ingest.names import Partition, Topic
from ingest.registry import Registry
from ingest.run.ddl import SourceChange, read_changes
from ingest.run.rejects import count_open
from ingest.run.report import to_iso
from ingest.settings import Settings
from ingest.tables import Table


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
            "offsets": _by_text(last.next_offsets) if last else {},
            "lag": self.lag,
            "rows": self.rows,
            "rejects": self.rejects,
            "source_lag_s": self.source_lag_s,
            "max_source_ts": to_iso(_moment(last.max_source_ms)) if last else None,
            "schema_ids": list(last.schema_ids) if last else [],
            "last_run": dict(last.counters) if last else {},
            "error": self.error or None,
            "source_changes": [
                {"at": to_iso(one.at), "kind": one.kind, "ddl": one.ddl or None, "columns": list(one.columns)}
                for one in self.changes
            ],
        }


def read_status(
    settings: Settings, spark: SparkSession, registry: Registry, tables: Sequence[Table]
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
    table: Table,
    marks: Mapping[Partition, Watermark] | None,
    error: IngestError | None,
) -> TableStatus:
    path = settings.lake.table_path(table.table)
    entries = read_history(spark, path, 1)
    last = entries[0] if entries else None
    done = last.next_offsets if last else {}
    lag = None
    if marks is not None:
        lag = sum(mark.end - done.get(partition, mark.begin) for partition, mark in marks.items())
    return TableStatus(
        table.table,
        table.topic,
        path,
        last,
        lag,
        rows=count_rows(spark, path) if last else None,
        rejects=count_open(settings, spark, table) if last else 0,
        source_lag_s=_source_lag_s(last, lag),
        error=str(error) if error else "",
    )


def _source_lag_s(last: LedgerEntry | None, lag: int | None) -> float | None:
    newest = _moment(last.max_source_ms) if last else None
    if newest is None or lag is None:
        return None
    return round(max(0.0, (datetime.now(UTC) - newest).total_seconds()), 1) if lag else 0.0


def _moment(millis: int | None) -> datetime | None:
    return None if millis is None else datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=millis)


def move_offsets(settings: Settings, spark: SparkSession, table: Table, to: str) -> TableStatus:
    """Move a table's next offsets, in a commit of their own, so that the table's history tells of it.

    `to` is `earliest`, `latest`, or partitions with offsets: `0=120,1=80` (others stay).  Rows stay as they
    are.  A move back makes the next run replay at least up to where the table stood.
    """
    kafka = settings.kafka
    marks = fetch_watermarks(kafka.bootstrap_servers, kafka.properties, [table.topic]).of(table.topic)
    path = settings.lake.table_path(table.table)
    entries = read_history(spark, path, 1)
    if not entries:
        raise UsageError(f"table {table.table} has no commit yet", "Run it once first")
    last = entries[0]
    offsets = _parse_move(to, last.next_offsets, marks)
    high = {p: last.high_offsets.get(p, 0) for p in offsets}
    entry = attrs.evolve(
        last,
        run_id=str(uuid.uuid4()),
        next_offsets=offsets,
        high_offsets={p: min(high[p], marks[p].end) for p in offsets},
        counters={},
        kind="set-offsets",
        note=f"moved to {to}; was {_text(last.next_offsets)}",
        instant=None,
    )
    record(spark, table, path, record_keys(spark, path), entry)
    return _status(settings, spark, table, marks, None)


def _parse_move(
    to: str, current: Mapping[Partition, int], marks: Mapping[Partition, Watermark]
) -> dict[Partition, int]:
    if to in ("earliest", "latest"):
        return {p: mark.begin if to == "earliest" else mark.end for p, mark in marks.items()}
    moved = {p: offset for p, offset in current.items() if p in marks}
    for part in to.split(","):
        partition, equals, offset = part.partition("=")
        if not (equals and partition.strip().isdigit() and offset.strip().isdigit()):
            raise UsageError(f"--to {to}: '{part}' is no move", "Give earliest, latest, or 0=120,1=80")
        number = Partition(int(partition))
        mark = marks.get(number)
        if mark is None or not mark.begin <= int(offset) <= mark.end:
            allowed = f"{mark.begin} to {mark.end}" if mark else f"partitions {_text(current)}"
            raise UsageError(f"--to {to}: '{part}' is outside the topic", f"Allowed: {allowed}")
        moved[number] = int(offset)
    return moved


def _by_text(offsets: Mapping[Partition, int]) -> dict[str, int]:
    return {str(partition): offset for partition, offset in sorted(offsets.items())}


def _text(offsets: Mapping[Partition, int]) -> str:
    return ",".join(f"{partition}={offset}" for partition, offset in sorted(offsets.items()))
