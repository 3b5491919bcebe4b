"""A job's end as Airflow takes it: XCom, asset events, and the exception that decides on a retry."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ingest.schedule.assets import announce
from ingest.schedule.job_result import Ended, JobResult, judge
from ingest.schedule.report import Json, Report
from ingest.schedule.states import AirflowException, AirflowFailException

REPORT_KEY: Final = "report"
"""The XCom of the run report; there after a failure too, where a task has no return value."""


def push_report(report: object, context: Mapping[str, Any]) -> None:
    """Push the run report, if there is one."""
    if isinstance(report, Report):
        context["ti"].xcom_push(key=REPORT_KEY, value=report.content)


def deliver(ended: Ended, lake: str, outlets: Sequence[object], context: Mapping[str, Any]) -> Json:
    """Return the run report of a job that is done, having announced its tables; raise for any other."""
    verdict = judge(ended)
    _check(verdict)
    if not isinstance(ended.report, Report):
        raise TypeError("a job is only done with its report")
    announce(ended.report, lake, outlets, context["outlet_events"])
    return ended.report.content


def _check(verdict: JobResult) -> None:
    """Raise what a task state is made of: AirflowFailException is never tried again."""
    match verdict.kind:
        case "again":
            raise AirflowException(verdict.text)
        case "failed":
            raise AirflowFailException(verdict.text)
        case "done":
            pass
