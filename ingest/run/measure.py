"""Measure a table when a run is done with it: from what the run has seen anyway, but for the open rejects."""

from collections.abc import Mapping
from typing import Any

import attrs

from ingest.errors import IngestError, OffsetError
from ingest.hudi import rejects
from ingest.hudi.timeline.ledger import LedgerEntry
from ingest.kafka.breaks import Watermark
from ingest.kafka.unread import unread_s
from ingest.log import logger
from ingest.names import Partition
from ingest.report.outcome import RunReport, TableOutcome
from ingest.run.batch.start import last_of, pending
from ingest.run.work.context import Context
from ingest.tables import Feed

Marks = Mapping[Partition, Watermark] | None
"""The ends of a topic, None if they are unknown."""


@attrs.frozen
class Aftermath:
    """A table after its run: the newest commit, and the number of open rejects if metrics are on."""

    last: LedgerEntry | None
    open_rejects: int | None
    unread_s: float | None = None
    """The age of the oldest unread message, None if it is not known."""


def look_after(run: Context, feed: Feed, marks: Marks) -> Aftermath | None:
    """Look at a table after its run, in its own thread.  If that fails, return None: it fails no table."""
    try:
        open_rejects = rejects.count_open(run.lake, feed) if run.settings.run.metrics else None
        aftermath = Aftermath(last_of(run.lake.table(feed.table), feed), open_rejects)
        return with_unread(run, feed, marks, aftermath)
    except Exception as error:  # noqa: BLE001  the table may have its commit already
        logger(__name__).debug("measure.failed", table=feed.name, exc_info=error)
        return None


def with_unread(run: Context, feed: Feed, marks: Marks, aftermath: Aftermath) -> Aftermath:
    """Add the age of the oldest unread message, if the topic and the broker tell it."""
    if marks is None:
        return aftermath
    try:
        waiting_s = unread_s(run.settings.kafka, pending(feed, aftermath.last, marks, None))
    except IngestError:
        return aftermath
    return attrs.evolve(aftermath, unread_s=waiting_s)


def measured(
    feed: Feed,
    found: TableOutcome,
    marks: Marks,
    aftermath: Aftermath | None,
) -> TableOutcome:
    """Add to an outcome how far its table is.  `marks` is None if the topic has no ends."""
    last = aftermath.last if aftermath else None
    newest = last.max_source_at if last else None
    lag = None
    if aftermath is not None and marks is not None:
        try:
            lag = pending(feed, last, marks, None).span
        except OffsetError:
            lag = None  # the topic does not go on from here: the error says so
    measures = attrs.evolve(
        found.measures,
        lag_offsets=lag,
        lag_s=0.0 if lag == 0 else aftermath.unread_s if aftermath and lag else None,
        committed_at=last.committed_at if last else None,
        newest_source_at=newest,
        open_rejects=aftermath.open_rejects if aftermath else None,
    )
    return attrs.evolve(found, measures=measures)


def log_table(run_id: str, one: TableOutcome) -> None:
    """Log a table's outcome, with the report's fields side by side."""
    logger(__name__).info("table.done", run_id=run_id, **_flat(one.to_json()))


def log_run(report: RunReport) -> None:
    """Log a run's outcome."""
    fields = report.to_json()
    count = len(fields.pop("tables"))
    seconds = (report.finished_at - report.started_at).total_seconds()
    logger(__name__).info("run.done", **fields, tables=count, seconds=round(seconds, 3))


def _flat(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Move the counts and the metrics to the top level."""
    inner = ("applied", "metrics")
    plain = {name: value for name, value in fields.items() if name not in inner}
    return {**plain, **fields["applied"], **fields["metrics"]}
