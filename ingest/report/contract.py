"""The run report: the JSON of the contract, declared once.  `run` writes it, `schedule` reads it.

Reaches no pyspark: Airflow imports it.
"""

from datetime import datetime
from typing import Any, Final, Literal, TypeVar

import attrs
import cattrs
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from ingest.moments import to_iso

Outcome = Literal["committed", "idle", "failed", "temporary"]
RunOutcome = Literal["done", "failed", "temporary"]
MaintenanceOutcome = Literal["maintained", "idle", "failed", "temporary"]
Step = Literal["start", "plan", "read", "write", "upkeep"]
T = TypeVar("T")


@attrs.frozen
class Offsets:
    """The ranges of a run, by partition: first offsets, and ends (exclusive)."""

    start: dict[str, int] = attrs.field(factory=dict, metadata={"key": "from"})
    end: dict[str, int] = attrs.field(factory=dict, metadata={"key": "to"})


@attrs.frozen
class Applied:
    """Numbers of rows that a run changed."""

    upserted: int
    deleted: int


@attrs.frozen
class SchemaChangeReport:
    """A change of the table's schema. A type that does not apply is left out."""

    kind: str
    column: str
    type: str = attrs.field(default="", metadata={"optional": True})
    was: str = attrs.field(default="", metadata={"optional": True})


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
class TableReport:
    """The result of a run for one table.

    `read` is the sum of all applied, superseded, ignored and rejected messages.  Of a table of several
    topics, `topic` names all of them, and the keys of `offsets` are `topic-partition`.
    """

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
    rows_with_lost_values: int = attrs.field(default=0, metadata={"optional": True})
    step_seconds: StepSeconds = StepSeconds()
    metrics: TableMetrics = TableMetrics()
    topics: tuple[TopicReport, ...] = attrs.field(default=(), metadata={"optional": True})
    """The results of the topics, of a table of several."""
    tables_without_file: tuple[str, ...] = attrs.field(default=(), metadata={"optional": True})
    """Other tables of the topic in the range, by their names in the source, that no table file takes."""
    error: str | None = None


@attrs.frozen
class Report:
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
class MaintenanceReport:
    """The result of `ingest maintain`."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    outcome: RunOutcome
    tables: tuple[TableMaintenance, ...]
    dry_run: bool = False


def unstructure(value: Any) -> Any:
    """Return a report, or a part of one, as JSON."""
    return _CONVERTER.unstructure(value)


def structure(content: Any, kind: type[T]) -> T:
    """Read a report from JSON, and ignore keys that this version does not know.

    Raises `cattrs.BaseValidationError`, `TypeError` or `ValueError`.
    """
    return _CONVERTER.structure(content, kind)


def _converter() -> cattrs.Converter:
    converter = cattrs.Converter(unstruct_collection_overrides={tuple: list})
    converter.register_unstructure_hook(datetime, to_iso)
    converter.register_structure_hook(datetime, lambda text, _: datetime.fromisoformat(text))
    for kind in (Offsets, SchemaChangeReport, TopicReport, TableReport):
        names: Any = {
            field.name: override(
                rename=field.metadata.get("key"), omit_if_default=field.metadata.get("optional", False)
            )
            for field in attrs.fields(kind)
        }
        converter.register_unstructure_hook(kind, make_dict_unstructure_fn(kind, converter, **names))
        converter.register_structure_hook(kind, make_dict_structure_fn(kind, converter, **names))
    return converter


_CONVERTER: Final = _converter()
