"""What became of a job, for Airflow and for the person on call."""

import signal
from collections.abc import Iterable, Sequence
from typing import Final, Literal

import attrs

from ingest.errors import PermanentError, RetryableError, UserError
from ingest.schedule.report import Report, ReportError

CANNOT_START: Final = (126, 127)
SIGNALLED: Final = 128
"""Above it an exit code is a signal's number more."""
UNKNOWN: Final = -1
"""The submission failed, and nothing told the driver's own exit code."""
MAX_ERRORS: Final = 20
"""So many tables' errors a message holds; all of them are in the report."""


@attrs.frozen
class JobResult:
    """`done`; `again`: Airflow may try again; `failed`: it would fail again unchanged."""

    kind: Literal["done", "again", "failed"]
    text: str


@attrs.frozen
class Ended:
    """How a job ended: its exit code, its report or what is wrong with that, its last lines.

    `stopped` says who ended it, where that was Airflow; `is_own` that the program is of Airflow's own
    environment.
    """

    code: int
    program: str
    report: Report | ReportError
    said: tuple[str, ...] = ()
    stopped: str = ""
    is_own: bool = False


def judge(ended: Ended) -> JobResult:
    """Say what an end means."""
    if ended.code == 0:
        return _done(ended)
    why = f"\n{reasons}" if (reasons := _reasons(ended)) else ""
    return JobResult("failed" if _is_final(ended) else "again", f"{_headline(ended)}{why}")


def _done(ended: Ended) -> JobResult:
    if isinstance(ended.report, ReportError):
        text = (
            f"{ended.program} left with exit code 0, but {ended.report}. "
            "Is it the `ingest` (or, with application=, the spark-submit) of the Spark environment?"
        )
        return JobResult("failed", text)
    return JobResult("done", f"{_count(ended.report)} in run {ended.report.run_id}")


def _is_final(ended: Ended) -> bool:
    if ended.stopped:
        return False
    return ended.code in {PermanentError.exit_code, UserError.exit_code, *CANNOT_START}


def _headline(ended: Ended) -> str:
    """Say in one sentence what happened, and what follows."""
    code = f"exit code {ended.code}"
    if ended.stopped:
        return f"ingest was stopped: {ended.stopped}. Every table is at one of its commits; run it again"
    if ended.code == UserError.exit_code:
        return f"ingest cannot run as it is set up ({code}); no retry would help{_own_hint(ended)}"
    if ended.code == PermanentError.exit_code:
        return f"ingest failed, and would fail again unchanged ({code}){_share(ended)}"
    if ended.code == RetryableError.exit_code:
        return f"ingest could not finish for now ({code}); it can be tried again as it is{_share(ended)}"
    if ended.code in CANNOT_START:
        return f"{ended.program} cannot be started ({code}): is it the Spark environment's, with its Java?"
    if ended.code > SIGNALLED:
        return f"ingest was killed by {_signal_name(ended.code)}; every table is at one of its commits"
    if ended.code == UNKNOWN:
        return f"{ended.program} failed; what the driver itself left with is not known"
    return f"{ended.program} left with {code}, which ingest itself never gives"


def _own_hint(ended: Ended) -> str:
    if not ended.is_own:
        return ""
    return (
        f". {ended.program} is of Airflow's own environment: "
        "executable= has to name that of the environment with Spark"
    )


def _share(ended: Ended) -> str:
    """Tell what became of the tables, where there were several."""
    several = isinstance(ended.report, Report) and len(ended.report.tables) > 1
    return f": {_count(ended.report)}" if several and isinstance(ended.report, Report) else ""


def _count(report: Report) -> str:
    outcomes = [one.outcome for one in report.tables]
    kinds = [one for one in ("committed", "idle", "failed", "temporary") if one in outcomes]
    return ", ".join(f"{outcomes.count(one):,} {one}" for one in kinds) or "no table"


def _reasons(ended: Ended) -> str:
    """Return the tables' errors, else the errors that the job printed, else its last lines."""
    if isinstance(ended.report, Report):
        errors = [one.error for one in ended.report.tables if one.error]
        more = len(errors) - MAX_ERRORS
        errors = errors[:MAX_ERRORS] + ([f"… and {more} more: see the XCom `report`"] if more > 0 else [])
        if errors:
            return "\n".join(errors)
    return "\n".join(_errors(ended.said) or ended.said)


def _errors(said: Iterable[str]) -> Sequence[str]:
    lines = (line for line in said if line.startswith("ingest: ") and not line.startswith("ingest: warning"))
    return [line.removeprefix("ingest: ") for line in lines]


def _signal_name(code: int) -> str:
    try:
        name = signal.Signals(code - SIGNALLED).name
    except ValueError:
        return f"signal {code - SIGNALLED}"
    return f"{name} (out of memory?)" if name == "SIGKILL" else name
