"""Verifications as reports for the webhook: a table that differs fails, and an equal table recovers."""

from collections.abc import Mapping

from ingest.errors import SourceDiffersError
from ingest.names import Topic
from ingest.report.outcome import RunReport, TableOutcome, failed
from ingest.verify.result import TableVerification, Verification


def as_report(verification: Verification, topics: Mapping[str, Topic]) -> RunReport:
    """Return the tables with a verdict: rows in flight neither accuse nor acquit a table."""
    outcomes = tuple(
        _outcome(table, topics[table.table]) for table in verification.tables if table.outcome != "in-flight"
    )
    return RunReport("", verification.started_at, verification.finished_at, outcomes)


def _outcome(table: TableVerification, topic: Topic) -> TableOutcome:
    error = table.error
    if table.outcome == "different":
        error = SourceDiffersError(table.table, table.source, _differences(table))
    if error is None:
        return TableOutcome(table.table, topic, "idle", seconds=table.seconds)
    return failed(table.table, topic, error, table.seconds)


def _differences(table: TableVerification) -> str:
    if not table.counts:
        return f"{table.source_rows:,} rows there, {table.table_rows:,} in the table"
    return ", ".join(f"{count:,} {kind}" for kind, count in table.counts.items())
