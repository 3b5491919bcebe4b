"""The result of a job, for Airflow and for the person on call."""

import signal
from typing import Final, Literal

import attrs

from ingest.errors import PermanentError, RetryableError, UserError
from ingest.schedule.output import error_in
from ingest.schedule.report import AnyReport, ReportError

CANNOT_START: Final = (126, 127)
SIGNALLED: Final = 128
"""An exit code above this is 128 plus a signal number."""
UNKNOWN: Final = -1
"""The submission failed and the driver's own exit code is unknown."""
MAX_ERRORS: Final = 20
"""Table errors in one message.  The report has all of them."""


@attrs.frozen
class JobResult:
    """`done`, `again` if Airflow may retry, or `failed` if a retry would fail again."""

    kind: Literal["done", "again", "failed"]
    text: str


@attrs.frozen
class Ended:
    """The end of a job: exit code, report or the reason that it cannot be read, last output lines.

    `stopped` is the reason if Airflow stopped the job.  `is_own` is true if the program lies in Airflow's own
    environment.
    """

    code: int
    program: str
    report: AnyReport | ReportError
    output: tuple[str, ...] = ()
    stopped: str = ""
    is_own: bool = False


def judge(ended: Ended) -> JobResult:
    """Return the result that a job's end implies."""
    if ended.code == 0:
        return _done(ended)
    why = f"\n{reasons}" if (reasons := _reasons(ended)) else ""
    return JobResult("failed" if _is_final(ended) else "again", f"{_headline(ended)}{why}")


def _done(ended: Ended) -> JobResult:
    if isinstance(ended.report, ReportError):
        text = (
            f"{ended.program} exited with code 0, but {ended.report}. "
            "Is it the `ingest` (or, with application=, the spark-submit) of the Spark environment?"
        )
        return JobResult("failed", text)
    return JobResult("done", f"{count_outcomes(ended.report)} in run {ended.report.run_id}")


def _is_final(ended: Ended) -> bool:
    if ended.stopped:
        return False
    return ended.code in {PermanentError.exit_code, UserError.exit_code, *CANNOT_START}


def _headline(ended: Ended) -> str:
    """Return one sentence: the failure and its consequence."""
    code = f"exit code {ended.code}"
    if ended.stopped:
        return f"ingest was stopped: {ended.stopped}. Every table is at one of its commits; run again"
    if ended.code == UserError.exit_code:
        return f"ingest is not set up correctly ({code}); a retry cannot help{_own_hint(ended)}"
    if ended.code == PermanentError.exit_code:
        return f"ingest failed and would fail again unchanged ({code}){_share(ended)}"
    if ended.code == RetryableError.exit_code:
        return f"ingest failed for a temporary reason ({code}); a retry may succeed{_share(ended)}"
    if ended.code in CANNOT_START:
        hint = "is it the one of the Spark environment, and is Java installed there?"
        return f"{ended.program} cannot be started ({code}): {hint}"
    if ended.code > SIGNALLED:
        return f"ingest was killed by {_signal_name(ended.code)}; every table is at one of its commits"
    if ended.code == UNKNOWN:
        return f"{ended.program} failed; the exit code of the driver is unknown"
    return f"{ended.program} exited with {code}, which ingest itself never returns"


def _own_hint(ended: Ended) -> str:
    if not ended.is_own:
        return ""
    return (
        f". {ended.program} lies in Airflow's own environment: "
        "executable= must name the one of the environment with Spark"
    )


def _share(ended: Ended) -> str:
    """Return the outcomes of the tables if there are several."""
    if isinstance(ended.report, ReportError) or len(ended.report.tables) <= 1:
        return ""
    return f": {count_outcomes(ended.report)}"


def count_outcomes(report: AnyReport) -> str:
    """Return the number of tables by outcome, as text."""
    outcomes = [table.outcome for table in report.tables]
    present = [
        name for name in ("committed", "maintained", "idle", "failed", "temporary") if name in outcomes
    ]
    return ", ".join(f"{outcomes.count(name):,} {name}" for name in present) or "no table"


def _reasons(ended: Ended) -> str:
    """Return the tables' errors, else the errors that the job printed, else its last lines."""
    if not isinstance(ended.report, ReportError):
        errors = [table.error for table in ended.report.tables if table.error]
        omitted = len(errors) - MAX_ERRORS
        errors = errors[:MAX_ERRORS] + (
            [f"… and {omitted} more: see the XCom `report`"] if omitted > 0 else []
        )
        if errors:
            return "\n".join(errors)
    return "\n".join(filter(None, map(error_in, ended.output))) or "\n".join(ended.output)


def _signal_name(code: int) -> str:
    try:
        name = signal.Signals(code - SIGNALLED).name
    except ValueError:
        return f"signal {code - SIGNALLED}"
    return f"{name} (out of memory?)" if name == "SIGKILL" else name
