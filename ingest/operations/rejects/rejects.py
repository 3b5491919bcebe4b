"""The rejected records of a table: read, counted and purged."""

from collections.abc import Mapping
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import attrs
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from ingest.errors import UsageError
from ingest.hudi.lake import Lake
from ingest.hudi.rejects import COLUMNS, GONE, KEY, at, counting_rows, next_entry
from ingest.json_values import JsonValue, unstructure
from ingest.moments import moment_or_none
from ingest.names import Topic
from ingest.run.work.context import Context
from ingest.run.work.feeds import one_feed
from ingest.run.work.writer import writing
from ingest.settings import Settings
from ingest.tables import TableConfig

_TIMES: Final = ("timestamp", "rejected_at", "resolved_at")
_BYTES: Final = ("key", "value", "headers")


@attrs.frozen
class Reject(JsonValue):
    """A rejected record.  Key, value and headers are read for a single record only."""

    json_keys = (
        "topic partition offset timestamp schema_id reason error run_id "
        "rejected_at resolved resolved_at resolved_by"
    )

    topic: str
    partition: int
    offset: int
    timestamp: datetime | None
    schema_id: int | None
    reason: str
    error: str
    run_id: str
    rejected_at: datetime | None
    resolved: str | None
    resolved_at: datetime | None
    key: bytes | None = None
    value: bytes | None = None
    headers: tuple[tuple[str, bytes | None], ...] = ()
    resolved_by: str | None = None
    """The run that resolved it."""

    def to_json(self, *, whole: bool = False) -> dict[str, Any]:
        """Return the record as JSON, a `whole` one with its bytes as hexadecimal digits."""
        if not whole:
            return super().to_json()
        headers = [{"key": key, "value": unstructure(value)} for key, value in self.headers]
        values = {"key": unstructure(self.key), "value": unstructure(self.value), "headers": headers}
        return super().to_json() | values


@attrs.frozen
class Rejects(JsonValue):
    """The rejects of a table: the number of open records, by reason, and the first of them."""

    table: str
    path: str
    open: int = 0
    resolved: int = 0
    reasons: Mapping[str, int] = attrs.Factory(dict)
    """Open records by reason, the most frequent first."""
    records: tuple[Reject, ...] = ()


def list_rejects(
    settings: Settings,
    spark: SparkSession,
    table: TableConfig,
    limit: int,
    *,
    resolved: bool = False,
    topic: Topic | None = None,
) -> Rejects:
    """Return the first rejects by their place, open ones or (`resolved`) all, and how many there are."""
    path = settings.lake.rejects_path(table.name)
    rows = counting_rows(Lake(spark, settings.lake), table, topic)
    if rows is None:
        return Rejects(table.name, path)
    groups = rows.groupBy(F.expr("if(resolved is null, reason, null)").alias("reason")).count().collect()
    open_ = sorted((row for row in groups if row.reason), key=lambda row: (-row["count"], row.reason))
    shown = rows if resolved else rows.where("resolved is null")
    columns = [name for name in COLUMNS if name not in _BYTES]
    first = shown.orderBy(*KEY).limit(limit)
    return Rejects(
        table.name,
        path,
        open=sum(row["count"] for row in open_),
        resolved=sum(row["count"] for row in groups if not row.reason),
        reasons={row.reason: row["count"] for row in open_},
        records=tuple(_reject(row) for row in _with_millis(first).select(columns).collect()),
    )


def show_reject(
    settings: Settings,
    spark: SparkSession,
    table: TableConfig,
    partition: int,
    offset: int,
    *,
    topic: str | None = None,
) -> Reject:
    """Return one reject with its bytes.  Raises `UsageError` if it does not exist."""
    feed = one_feed(settings, table, topic)
    rows = counting_rows(Lake(spark, settings.lake), table, feed.source)
    matches = [] if rows is None else _with_millis(at(rows, partition, offset)).collect()
    if not matches:
        coordinates = f"{feed.topic}-{partition}-{offset}"
        raise UsageError(f"{coordinates} is not a reject of table {table.name}", _list_hint(table))
    return _reject(matches[0])


def purge(
    run: Context,
    table: TableConfig,
    *,
    older_than_days: float = 0,
    resolved: bool = False,
    dry_run: bool = False,
) -> int:
    """Permanently delete rejects older than an age, all or only resolved ones, and return their number."""
    before = datetime.now(UTC) - timedelta(days=older_than_days)
    with nullcontext() if dry_run else writing(run, table) as writer:
        if writer is not None:
            writer.rejects.check_files()
        rows = counting_rows(run.lake, table)
        if rows is None:
            return 0
        is_old = F.col("rejected_at") < F.lit(before)
        chosen = rows.where(is_old & F.col("resolved").isNotNull() if resolved else is_old)
        count = chosen.count()
        if writer is not None and count:
            entry = next_entry(writer.rejects, run.run_id, "purge", f"purged {count} rejects")
            writer.commit_rejects(chosen.withColumn("resolved", F.lit(GONE)), entry)
    return count


def _list_hint(table: TableConfig) -> str:
    return f"See `ingest rejects list {table.name}`"


def _with_millis(rows: DataFrame) -> DataFrame:
    """Make numbers of instants, which pyspark would give in the zone of the process."""
    return rows.withColumns({name: F.expr(f"unix_millis({name})") for name in _TIMES})


def _reject(row: Row) -> Reject:
    values = row.asDict()
    values |= {name: moment_or_none(values[name]) for name in _TIMES}
    for name in ("key", "value"):
        values[name] = None if values.get(name) is None else bytes(values[name])
    headers = values.get("headers") or ()
    values["headers"] = tuple(
        (header.key, None if header.value is None else bytes(header.value)) for header in headers
    )
    return Reject(**values)
