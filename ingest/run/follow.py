"""Run after run, until it is stopped: what one runs into, the next one tries again."""

import time
from collections.abc import Callable, Generator
from typing import Final

from ingest.errors import RetryableError
from ingest.log import logger
from ingest.run.report import RunReport
from ingest.stop import Stop, listening

RunOnce = Callable[[Stop], RunReport]
"""A run that hears signals by the `Stop` it is given, and tells of them in its report alone."""

_TICK_S: Final = 0.1


def follow(run_once: RunOnce, interval_s: float) -> Generator[RunReport, None, None]:
    """Give the report of each run, until a signal comes or every table fails for good.

    Runs begin `interval_s` apart, or at once where a bounded run left something behind.  What is temporary
    and concerns all tables (a broker out of reach) is logged, and tried again; other errors are raised.  In
    the main thread a SIGTERM or SIGINT ends it in order, in a run or between two; a second one at once.
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
    """Tell whether a run says anything that the one `before` it did not: a commit, or another error."""
    is_committed = any(one.outcome == "committed" for one in report.tables)
    return before is None or is_committed or _errors(report) != _errors(before)


def _errors(report: RunReport) -> dict[str, str]:
    return {one.table: str(one.error) for one in report.tables if one.error}


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
    """Tell whether a table that was committed has more to read that was there already."""
    return any(one.outcome == "committed" and one.measures.lag_offsets for one in report.tables)


def _is_hopeless(report: RunReport) -> bool:
    return bool(report.tables) and all(one.outcome == "failed" for one in report.tables)
