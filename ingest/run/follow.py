"""Run after run, until a signal stops it.  Each run retries the temporary errors of the one before."""

import time
from collections.abc import Callable, Generator
from typing import Final

from ingest.errors import RetryableError
from ingest.log import logger
from ingest.report.outcome import RunReport
from ingest.stop import Stop, listening

RunOnce = Callable[[Stop], RunReport]
"""A run that receives signals by its `Stop`, and reports them only in its report."""

_TICK_S: Final = 0.1


def follow(run_once: RunOnce, interval_s: float) -> Generator[RunReport, None, None]:
    """Yield the report of each run, until a signal comes or every table fails permanently.

    Runs begin `interval_s` apart, or at once after a bounded run that left messages.  A temporary error of
    all tables (a broker out of reach) is logged and retried.  Other errors are raised.  In the main thread a
    SIGTERM or SIGINT ends it in order, in a run or between two, and a second one at once.
    """
    between = Stop()
    with listening(between):
        while not between.signal:
            began, within = time.monotonic(), Stop()
            report = _attempt(run_once, within)
            if report is not None:
                yield report
                if within.signal or _is_hopeless(report):
                    return
            if report is None or not _left_behind(report):
                _pause(between, began + interval_s)


def is_news(report: RunReport, before: RunReport | None) -> bool:
    """Whether a run has news compared with the one `before` it: a commit, or another error."""
    is_committed = any(table.outcome == "committed" for table in report.tables)
    return before is None or is_committed or _errors(report) != _errors(before)


def _errors(report: RunReport) -> dict[str, str]:
    return {table.table: str(table.error) for table in report.tables if table.error}


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
