"""Verifications as metrics, next to the metrics of runs but in separate files and groups."""

from collections.abc import Iterator
from typing import Final, get_args

from ingest.report.openmetrics import Families, Sample, publish_tables
from ingest.verify.result import Difference, Outcome, TableVerification, Verification

_FAMILIES: Final[Families] = {
    "ingest_verify_outcome": ("", "How the last verification ended: 1 for that outcome, 0 for others."),
    "ingest_verify_rows": ("", "Rows of the last verification, by side: source or table."),
    "ingest_verify_differences": ("", "Rows that differ, by kind."),
    "ingest_verify_column_differences": ("", "Different values by column; only columns that have any."),
    "ingest_verify_uncompared_columns": ("", "Columns that cannot be compared."),
    "ingest_verify_duration_seconds": ("seconds", "How long the verification took."),
    "ingest_verify_finished_timestamp_seconds": ("seconds", "When the verification ended."),
}


def publish(verification: Verification, target: str) -> None:
    """Write or send metrics: `verify_<table>.prom` in a folder, a file, or groups of a Pushgateway.

    Raises `OSError` or `UsageError`.
    """
    tables = {table.table: list(_samples(table, verification)) for table in verification.tables}
    publish_tables("verify", tables, _FAMILIES, target)


def _samples(table: TableVerification, verification: Verification) -> Iterator[Sample]:
    """Yield the metrics of a table. After an error the numbers are unknown and left out."""
    name = {"table": table.table}
    for outcome in get_args(Outcome):
        yield "ingest_verify_outcome", {**name, "outcome": outcome}, float(table.outcome == outcome)
    yield "ingest_verify_duration_seconds", name, table.seconds
    yield "ingest_verify_finished_timestamp_seconds", name, verification.finished_at.timestamp()
    if table.error is not None:
        return
    for side, rows in (("source", table.source_rows), ("table", table.table_rows)):
        yield "ingest_verify_rows", {**name, "side": side}, float(rows)
    differences = {**{kind: table.counts.get(kind, 0) for kind in get_args(Difference)}}
    for kind, count in {**differences, "in_flight": table.in_flight}.items():
        yield "ingest_verify_differences", {**name, "kind": kind}, float(count)
    for column, count in table.columns.items():
        yield "ingest_verify_column_differences", {**name, "column": column}, float(count)
    yield "ingest_verify_uncompared_columns", name, float(len(table.uncompared))
