"""Report a finished job to Airflow: XCom, asset events, and the exception that decides on a retry."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ingest.schedule.assets import announce
from ingest.schedule.job_result import Ended, JobResult, judge
from ingest.schedule.report import AnyReport, Json, Report, ReportError
from ingest.schedule.states import AirflowException, AirflowFailException

REPORT_KEY: Final = "report"
"""XCom key of the run report.  It is also set after a failure, when a task has no return value."""


def push_report(report: object, context: Mapping[str, Any]) -> None:
    """Push the run report if the job wrote it."""
    if isinstance(report, AnyReport):
        context["ti"].xcom_push(key=REPORT_KEY, value=report.content)


def deliver(ended: Ended, lake: str, outlets: Sequence[object], context: Mapping[str, Any]) -> Json:
    """Announce the tables of a successful run and return the job's report.  Raise if the job failed."""
    result = judge(ended)
    _check(result)
    if isinstance(ended.report, ReportError):
        raise TypeError("a job is only successful with its report")
    if isinstance(ended.report, Report):
        announce(ended.report, lake, outlets, context["outlet_events"])
    return ended.report.content


def _check(result: JobResult) -> None:
    """Raise the exception for the task state: Airflow never retries after AirflowFailException."""
    match result.kind:
        case "again":
            raise AirflowException(result.text)
        case "failed":
            raise AirflowFailException(result.text)
        case "done":
            pass
