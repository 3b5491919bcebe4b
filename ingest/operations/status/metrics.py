"""The state of tables as metrics, next to the metrics of runs but in separate files and groups."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from ingest.operations.status.health import STATES, Health
from ingest.report.openmetrics import Families, Sample, publish_tables

if TYPE_CHECKING:
    from ingest.operations.status.status import TableStatus

_FAMILIES: Final[Families] = {
    "ingest_status_health": ("", "The state of the table: 1 for that state, 0 for others."),
    "ingest_status_connector_silence_seconds": ("seconds", "Age of the newest message of the connector."),
    "ingest_status_timestamp_seconds": ("seconds", "When `ingest status` ended."),
}


def publish(found: "Sequence[tuple[TableStatus, Health]]", target: str) -> None:
    """Write or send metrics: `status_<table>.prom` in a folder, a file, or groups of a Pushgateway.

    Raises `OSError` or `UsageError`.
    """
    now = datetime.now(UTC)
    tables = {status.table: list(_samples(status, health, now)) for status, health in found}
    publish_tables("status", tables, _FAMILIES, target)


def _samples(status: "TableStatus", health: Health, now: datetime) -> Iterator[Sample]:
    """Yield the metrics of a table.  The silence of a connector is left out if nothing limits it."""
    name = {"table": status.table}
    for state in STATES:
        yield "ingest_status_health", {**name, "state": state}, float(health.state == state)
    yield "ingest_status_timestamp_seconds", name, now.timestamp()
    connector = status.connector
    if connector is not None and connector.silent_s is not None:
        labels = {**name, "connector": connector.prefix}
        yield "ingest_status_connector_silence_seconds", labels, connector.silent_s
