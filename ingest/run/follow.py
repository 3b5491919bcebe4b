"""Run after run, until a signal stops it.  Each run retries the temporary errors of the one before."""

import time
from collections.abc import Callable, Generator
from datetime import UTC, datetime
from typing import Final

import attrs

from ingest.errors import RetryableError
from ingest.log import logger
from ingest.report.outcome import RunReport
from ingest.run.work.beside import BACKLOG, Beside, RoundStop
from ingest.stop import Stop, listening

RunOnce = Callable[[Stop], RunReport]
"""A run that receives signals by its `Stop`, and reports them only in its report."""

_TICK_S: Final = 0.1


def follow(run_once: RunOnce, interval_s: float) -> Generator[RunReport, None, None]:
    """Yield the report of each run, until a signal comes or every table fails permanently.

    Runs begin `interval_s` apart, or at once after a bounded run that left messages.  A table with a backlog,
    or on a storage that hangs, holds up no run: its outcome is in the report of the run during which it
    ends.  A temporary error of all tables (a broker out of reach) is logged and retried.  Other errors are
    raised.  In the main thread a SIGTERM or SIGINT ends it in order, in a run or between two, and a second
    one at once.
    """
    between, beside, report = Stop(), Beside(BACKLOG), None
    with listening(between):
        try:
            while not between.signal:
                began, within = time.monotonic(), RoundStop(beside)
                report = _attempt(run_once, within)
                if report is not None:
                    yield report
                    if within.signal or (_is_hopeless(report) and not beside.is_at_work):
                        return
                if report is None or not _left_behind(report):
                    _pause(between, began + interval_s)
            if report is not None and (stopped := beside.end(between)):
                finished = datetime.now(UTC)
                yield attrs.evolve(report, finished_at=finished, tables=tuple(stopped.values()))
        finally:
            beside.end(between)


@attrs.define
class News:
    """What the runs so far have told of each table, by which a run has news or none."""

    _errors: dict[str, str] = attrs.field(factory=dict, init=False)
    _is_first: bool = attrs.field(default=True, init=False)

    def has(self, report: RunReport) -> bool:
        """Whether a run has news: it is the first, it has a commit, or a table's error is another one."""
        errors = {table.table: str(table.error or "") for table in report.tables}
        is_news = self._is_first or any(table.outcome == "committed" for table in report.tables)
        is_news |= any(error != self._errors.get(table, "") for table, error in errors.items())
        self._is_first, self._errors = False, self._errors | errors
        return is_news


def _attempt(run_once: RunOnce, within: Stop) -> RunReport | None:
    try:
        return run_once(within)
    except RetryableError as error:
        logger(__name__).warning("follow.again", problem=str(error))
        return None


def _pause(between: Stop, until: float) -> None:
    while not between.signal and time.monotonic() < until:
        time.sleep(_TICK_S)


def _left_behind(report: RunReport) -> bool:
    """Whether a committed table has messages left that were there when the run began."""
    return any(table.outcome == "committed" and table.measures.lag_offsets for table in report.tables)


def _is_hopeless(report: RunReport) -> bool:
    return bool(report.tables) and all(table.outcome == "failed" for table in report.tables)
