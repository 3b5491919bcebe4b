"""The run report: the JSON of the contract, declared once.  `run` writes it, `schedule` reads it.

Reaches no pyspark: Airflow imports it.
"""

from datetime import datetime
from typing import Literal

import attrs

from ingest.json_values import JsonValue

Outcome = Literal["committed", "idle", "failed", "temporary"]
RunOutcome = Literal["done", "failed", "temporary"]
MaintenanceOutcome = Literal["maintained", "idle", "failed", "temporary"]
Step = Literal["start", "plan", "read", "write", "upkeep"]


@attrs.frozen
class Offsets(JsonValue):
    """The ranges of a run, by partition: first offsets, and ends (exclusive)."""

    json_keys = "from=start to=end"

    start: dict[str, int] = attrs.Factory(dict)
    end: dict[str, int] = attrs.Factory(dict)


@attrs.frozen
class Applied:
    """Numbers of rows that a run changed."""

    upserted: int
    deleted: int


@attrs.frozen
class SchemaChangeReport(JsonValue):
    """A change of the table's schema. A type that does not apply is left out."""

    json_keys = "kind column type? was?"

    kind: str
    column: str
    type: str = ""
    was: str = ""


@attrs.frozen
class TableMetrics:
    """Measures of a table after a run, also after a failed one. An unknown value is null."""

    read_bytes: int = 0
    commit_seconds: float | None = None
    lag_offsets: int | None = None
    lag_seconds: float | None = None
    last_commit_at: datetime | None = None
    last_source_ts: datetime | None = None
    open_rejects: int | None = None


@attrs.frozen
class StepSeconds:
    """The seconds of a run, or of one of its tables, by step."""

    start: float = 0.0
    """Starting the JVM and its Spark session."""
    plan: float = 0.0
    """Requests to table, broker and registry, and compiling the table from its schemas."""
    read: float = 0.0
    """Messages fetched, decoded and reduced to one row per key. Spark does these in one pipeline."""
    write: float = 0.0
    """Rejects and rows, up to the commit."""
    upkeep: float = 0.0
    """Compaction, cleaning and archiving after the commit."""


@attrs.frozen
class TopicReport:
    """A run's result for one topic of a table of several. The fields have the same meaning as a table's."""

    topic: str
    outcome: Outcome
    instant: str | None
    offsets: Offsets
    read: int
    applied: Applied
    superseded: int
    ignored: dict[str, int]
    rejected: int
    schema_ids: tuple[int, ...]
    schema_changes: tuple[SchemaChangeReport, ...]
    max_source_ts: datetime | None
    seconds: float
    lag_offsets: int | None = None
    lag_seconds: float | None = None
    error: str | None = None


@attrs.frozen
class TableReport(JsonValue):
    """The result of a run for one table.

    `read` is the sum of all applied, superseded, ignored and rejected messages.  Of a table of several
    topics, `topic` names all of them, and the keys of `offsets` are `topic-partition`.
    """

    json_keys = (
        "table outcome instant topic offsets read applied superseded ignored rejected schema_ids "
        "schema_changes max_source_ts seconds step_seconds metrics error "
        "rows_with_lost_values? topics? tables_without_file?"
    )

    table: str
    outcome: Outcome
    instant: str | None
    topic: str
    offsets: Offsets
    read: int
    applied: Applied
    superseded: int
    ignored: dict[str, int]
    rejected: int
    schema_ids: tuple[int, ...]
    schema_changes: tuple[SchemaChangeReport, ...]
    max_source_ts: datetime | None
    seconds: float
    rows_with_lost_values: int = 0
    step_seconds: StepSeconds = StepSeconds()
    metrics: TableMetrics = TableMetrics()
    topics: tuple[TopicReport, ...] = ()
    """The results of the topics, of a table of several."""
    tables_without_file: tuple[str, ...] = ()
    """Other tables of the topic in the range, by their names in the source, that no table file takes."""
    error: str | None = None


@attrs.frozen
class Report(JsonValue):
    """The result of a run."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    outcome: RunOutcome
    tables: tuple[TableReport, ...]
    step_seconds: StepSeconds = StepSeconds()


@attrs.frozen
class TableMaintenance:
    """The result of `ingest maintain` for one table. A dry run reports the pending work."""

    table: str
    outcome: MaintenanceOutcome
    compacted_log_files: int = 0
    compacted_bytes: int = 0
    removed_files: int = 0
    freed_bytes: int = 0
    archived_commits: int = 0
    seconds: float = 0.0
    error: str | None = None


@attrs.frozen
class MaintenanceReport(JsonValue):
    """The result of `ingest maintain`."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    outcome: RunOutcome
    tables: tuple[TableMaintenance, ...]
    dry_run: bool = False
