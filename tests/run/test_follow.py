"""Runs follow one another until a signal comes, or nothing can be done any more."""

import signal
import time
from collections.abc import Callable
from datetime import UTC, datetime

import attrs
import pytest

from ingest.errors import BrokerUnreachableError, SettingsError, StoppedError
from ingest.names import Topic
from ingest.report.contract import Outcome
from ingest.report.lag import Measures
from ingest.report.outcome import RunReport, TableOutcome
from ingest.run.follow import News, follow
from ingest.stop import Stop, Terminated, listening

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)


def report(*outcomes: Outcome, lag: int = 0) -> RunReport:
    """Make the report of a run."""
    tables = (
        TableOutcome("t", Topic("t"), outcome, measures=Measures(lag_offsets=lag)) for outcome in outcomes
    )
    return RunReport("r", MOMENT, MOMENT, tuple(tables))


@attrs.define
class Runs:
    """Runs that end as instructed, and when they began."""

    steps: list[RunReport | Exception | Callable[[], RunReport]]
    began: list[float] = attrs.Factory(list)

    def __call__(self, stop: Stop) -> RunReport:
        """Run once, listening as a run does."""
        self.began.append(time.monotonic())
        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        with listening(stop):
            return step() if callable(step) else step


def stopped(problem: str) -> RunReport:
    """Make the report of a run whose one table met an error."""
    error = BrokerUnreachableError("b:1", problem)
    return RunReport("r", MOMENT, MOMENT, (TableOutcome("t", Topic("t"), "temporary", error=error),))


def stopped_within() -> RunReport:
    """Receive a stop in the middle of a run."""
    signal.raise_signal(signal.SIGTERM)
    error = StoppedError("t", "SIGTERM")
    return RunReport("r", MOMENT, MOMENT, (TableOutcome("t", Topic("t"), "temporary", error=error),))


def test_runs_begin_an_interval_apart_until_every_table_fails() -> None:
    """One that fails does not end it while another continues; what is temporary is tried again."""
    down = BrokerUnreachableError("b:1", "refused")
    runs = Runs([report("committed", "failed"), down, report("idle", "failed"), report("failed", "failed")])

    outcomes = [[table.outcome for table in result.tables] for result in follow(runs, 0.3)]

    assert outcomes == [["committed", "failed"], ["idle", "failed"], ["failed", "failed"]]
    assert all(later - earlier >= 0.3 for earlier, later in zip(runs.began, runs.began[1:], strict=False))


def test_the_rest_of_a_bounded_run_is_read_at_once() -> None:
    """No pause while the table is behind the ends that the run saw."""
    runs = Runs([report("committed", lag=5), report("committed", lag=1), report("failed")])

    assert len(list(follow(runs, 60))) == 3


def test_a_signal_in_a_run_ends_it_with_that_runs_report() -> None:
    """The report names the abandoned tables."""
    runs = Runs([report("idle"), stopped_within])

    *_, last = follow(runs, 0.01)

    assert isinstance(last.tables[0].error, StoppedError)


def test_an_idle_run_or_the_same_error_again_is_not_news() -> None:
    """A run every ten seconds would fill the log otherwise."""
    runs = [
        (report("idle"), True),  # the first
        (report("idle"), False),
        (report("committed"), True),
        (report("committed"), True),
        (stopped("lag"), True),
        (stopped("lag"), False),
        (RunReport("r", MOMENT, MOMENT, ()), False),  # the table is at work beside the run
        (stopped("lag"), False),
        (stopped("other"), True),
        (report("idle"), True),  # works again
        (report("idle"), False),
    ]
    news = News()

    assert [news.has(run) for run, _ in runs] == [expected for _, expected in runs]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_between_runs_ends_it_in_order(number: int) -> None:
    """While the caller looks at a report; afterwards signals mean what they did before."""
    before = signal.getsignal(number)
    reports = follow(Runs([report("idle")]), 60)

    next(reports)
    signal.raise_signal(number)

    assert list(reports) == []
    assert signal.getsignal(number) is before


def test_a_second_signal_ends_it_at_once() -> None:
    """Nobody has to wait for an orderly end."""
    reports = follow(Runs([report("idle")]), 60)
    next(reports)

    signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Terminated):
        signal.raise_signal(signal.SIGTERM)
    reports.close()


def test_a_permanent_error_is_raised() -> None:
    """Wrong settings are not a reason to wait."""
    with pytest.raises(SettingsError):
        list(follow(Runs([SettingsError("ingest.toml", "kafka", "is wrong")]), 0.01))
