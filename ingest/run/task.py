"""Bring many tables up to date."""

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import attrs

from ingest.errors import IngestError, TableChangedError, TableFileError, TopicNotFoundError
from ingest.kafka.breaks import Watermark
from ingest.kafka.group import store_offsets
from ingest.kafka.watermarks import Watermarks, fetch_watermarks
from ingest.log import logger
from ingest.names import Partition, Topic
from ingest.report import lineage as lineages
from ingest.report.outcome import RunReport, TableOutcome, combined, continued, failed
from ingest.run import table as running
from ingest.run.batch.start import find_start, is_left_costly, last_of
from ingest.run.measure import Aftermath, log_run, log_table, look_after, measured, with_unread
from ingest.run.work import fleet
from ingest.run.work.beside import RoundStop
from ingest.run.work.context import Context
from ingest.run.work.topics import TopicsTask
from ingest.run.work.work import resolve, work_on_tables
from ingest.tables import Feed, TableConfig

FRESH_S: Final = 1.0
"""How long the ends of a round of `--follow` count as new.  To ask for those of a topic costs 3 ms of CPU."""


@attrs.frozen
class RunTask:
    """Brings tables up to date (a `TableTask`)."""

    watermarks: Watermarks
    later: dict[str, Watermarks] = attrs.Factory(dict)
    """The ends of tables that waited for their turn in a round of `--follow`, asked for at that turn."""
    asked: float = attrs.Factory(time.monotonic)
    aftermaths: dict[str, Aftermath | None] = attrs.Factory(dict)
    parts: dict[str, list[TableOutcome]] = attrs.Factory(dict)
    """The commits of each table so far: several, if it ran out of memory."""

    def by_files(self, run: Context, feed: Feed) -> TableOutcome | None:
        """Return the outcome of a table without new messages."""
        started, stored = time.monotonic(), run.files.table(feed.table)
        open_rejects = run.files.count_open(feed) if run.settings.run.metrics else None
        self.aftermaths[_key(feed)] = aftermath = Aftermath(last_of(stored, feed), open_rejects)
        marks = self._marks(feed)
        try:
            start = find_start(run, stored, feed, marks)
        except IngestError as error:
            if isinstance(error, TableChangedError):
                may_be_held = run.note_holder(feed.table) or not run.files.shows_locks(feed.table)
                if may_be_held or stored.fixed_changes(feed.table).is_half_done:
                    return None  # the lock, or Hudi's classes, decide
            self.aftermaths[_key(feed)] = with_unread(run, feed, marks, aftermath)
            raise
        if not start.ranges.is_empty:
            run.waiting[_key(feed)] = start.ranges.span
            run.file_bytes[feed.name] = stored.next_bytes(feed.table.target)
            run.note_holder(feed.table)
            if run.beside is not None and aftermath.last and (at := aftermath.last.committed_at):
                run.committed[feed.name] = at
            if run.settings.run.share_reads:
                run.reads.expect(feed, start.ranges)
            return None
        if is_left_costly(run, feed.table, stored) and not run.note_holder(feed.table):
            return None
        run.update_iceberg(feed.table)
        run.steps.add(feed.name, "plan", started)
        seconds = time.monotonic() - started
        return TableOutcome(feed.name, feed.topic, "idle", ranges=start.ranges, seconds=seconds)

    def _marks(self, feed: Feed) -> Mapping[Partition, Watermark]:
        """Return the ends of a table's topic.  One that the table has read before is not misspelled."""
        try:
            return self._ends(feed).of(feed.topic)
        except TopicNotFoundError as error:
            aftermath = self.aftermaths.get(_key(feed))
            if aftermath is None or aftermath.last is None:
                raise
            raise attrs.evolve(error, hint="The table has read it before, so it was deleted.") from None

    def with_spark(self, run: Context, feed: Feed) -> TableOutcome:
        """Run one table, then measure it."""
        if run.lineage is not None:
            run.lineage.start(feed)
        try:
            self._ask_again(run, feed)
            return self._run(run, feed)
        finally:
            ends = self._ends(feed).found.get(feed.topic)
            self.aftermaths[_key(feed)] = look_after(run, feed, ends)

    def _ends(self, feed: Feed) -> Watermarks:
        return self.later.get(_key(feed), self.watermarks)

    def _ask_again(self, run: Context, feed: Feed) -> None:
        """Ask for the ends of a table that has waited in a round of `--follow`: a change waits only once.

        A single run reads up to the ends at its start, and tables that share messages read the same ones.
        """
        has_waited = run.beside is not None and time.monotonic() - self.asked >= FRESH_S
        if has_waited and feed.topic in self.watermarks.found and not run.reads.is_shared(feed.topic):
            self.later[_key(feed)] = fetch_watermarks(run.settings.kafka, [feed.topic])

    def _run(self, run: Context, feed: Feed) -> TableOutcome:
        """Run one table, slice by slice to the ends if it ran out of memory."""
        marks = self._marks(feed)
        while True:
            is_limited = run.limits.of(feed) is not None
            try:
                outcome = running.run_table(run, feed, marks)
            except Exception as error:
                if fleet.is_out_of_memory(error) and run.limits.lower(feed.table, is_alone=False):
                    continue
                raise
            if outcome.outcome == "idle":
                run.limits.end(feed)
            parts = self.parts.setdefault(_key(feed), [])
            parts.append(outcome)
            if not is_limited or outcome.outcome == "idle" or run.max_offsets is not None:
                return parts[0] if len(parts) == 1 else continued(parts)

    def finish(
        self, run: Context, feed: Feed, result: TableOutcome | IngestError, seconds: float
    ) -> TableOutcome:
        """Add the measures, and log the outcome."""
        run.reads.done(feed)
        if isinstance(result, IngestError):
            result = failed(feed.name, feed.topic, result, seconds)
        ends = self._ends(feed).found.get(feed.topic)
        result = attrs.evolve(result, steps=run.steps.of_table(feed.name))
        outcome = measured(feed, result, ends, self.aftermaths.get(_key(feed)))
        run.progress(feed.name, outcome.outcome)
        if run.lineage is not None:
            run.lineage.finish(feed, outcome)
        log_table(run.run_id, outcome)
        return outcome

    def combine(self, table: TableConfig, results: Sequence[TableOutcome]) -> TableOutcome:
        """Return the outcome of a table of several topics."""
        return combined(table.name, results)


def _key(feed: Feed) -> str:
    return f"{feed.name} {feed.topic}"


def run_tables(
    run: Context, tables: Sequence[TableConfig], broken: Sequence[TableFileError] = ()
) -> RunReport:
    """Bring every table up to the ends that its topic has now (see `work_on_tables`).

    A table whose file is `broken` has failed, and stops no other.
    """
    started = datetime.now(UTC)
    if run.settings.lineage.is_on:
        run = attrs.evolve(run, lineage=lineages.Lineage(run.settings, run.run_id))
    if isinstance(run.stop, RoundStop):
        run = attrs.evolve(run, beside=run.stop.beside)
    feeds, watermarks = resolve(run, tables)
    outcomes = work_on_tables(run, tables, TopicsTask(RunTask(watermarks), feeds, stops=True))
    if run.settings.kafka.group:
        show_offsets(run, outcomes)
    of_files = tuple(failed(error.table, Topic(""), error, 0.0) for error in broken)
    for outcome in of_files:
        log_table(run.run_id, outcome)
    report = RunReport(run.run_id, started, datetime.now(UTC), (*outcomes, *of_files), run.steps.of_run())
    log_run(report)
    return report


def show_offsets(run: Context, outcomes: Sequence[TableOutcome]) -> None:
    """Store the offsets at which the next run continues, the lowest for a topic of several tables.

    They are for tools that know consumer groups (`[kafka] group`).
    Leaves out a topic of which a table failed: its lag grows.  An error is only logged: the commits are
    there, and the next run stores the offsets again.
    """
    offsets: dict[Topic, dict[Partition, int]] = {}
    outcomes = [topic for outcome in outcomes for topic in outcome.topics or (outcome,)]
    failed_topics = {outcome.topic for outcome in outcomes if outcome.outcome not in {"committed", "idle"}}
    for outcome in outcomes:
        if outcome.ranges is not None and outcome.topic not in failed_topics:
            ends = offsets.setdefault(outcome.topic, {})
            for partition, end in outcome.ranges.end_offsets().items():
                ends[partition] = min(end, ends.get(partition, end))
    try:
        store_offsets(run.settings.kafka, offsets)
    except IngestError as error:
        logger(__name__).warning("group.not-stored", group=run.settings.kafka.group, problem=str(error))
