"""The last runs of a deployment, in its state folder: their reports, and the last outcome of each table.

`runs/<start>-<run id>.json` is the report of a run, and `outcomes/<table>.json` the last outcome of a table.
Hosts and Airflow's workers that share the folder have them together.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

import attrs
import cattrs

from ingest.errors import StoppedError, UsageError
from ingest.json_values import JsonValue, structure
from ingest.log import logger
from ingest.report.contract import Outcome, Report
from ingest.report.outcome import RunReport, TableOutcome, write_whole

T = TypeVar("T")
_SERIES: Final = timedelta(minutes=1)
"""Runs without news that follow each other faster, as those of `--follow` do, are kept as one."""


@attrs.frozen
class LastRun(JsonValue):
    """The outcome of the last run of a table."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    outcome: Outcome
    error: str | None = None
    exit_code: int = 0

    @property
    def is_failure(self) -> bool:
        """Whether the run failed for the table."""
        return self.outcome in {"failed", "temporary"}


@attrs.frozen
class _Result:
    """One table in a report, without its numbers."""

    table: str
    outcome: Outcome
    error: str | None = None


@attrs.frozen
class _Outcomes:
    """A report without its numbers."""

    run_id: str
    started_at: datetime
    finished_at: datetime
    tables: tuple[_Result, ...]


def keep(folder: Path, report: RunReport, most: int) -> None:
    """Store a run and its tables' outcomes, and remove all but the newest `most` runs.

    An error of the folder is only logged: the run has its own outcome.
    """
    try:
        for table in report.tables:
            if not isinstance(table.error, StoppedError):  # a stopped table is at its last commit
                _write_outcome(folder, report, table)
        if most:
            _write_run(folder / "runs", report)
        for file in _newest_first(folder / "runs")[most:]:
            file.unlink(missing_ok=True)
    except OSError as error:
        logger(__name__).warning("run.not-kept", run_id=report.run_id, folder=str(folder), problem=str(error))


def read_outcome(folder: Path, table: str) -> LastRun | None:
    """Return the last outcome of a table, or None.  Raises `UsageError` for a damaged file."""
    return _read(_outcome_file(folder, table), LastRun, f"Run `ingest run {table}` again")


def read_runs(folder: Path) -> Iterator[Report]:
    """Yield the kept runs, the newest first.  Raises `UsageError` for a damaged file."""
    for file in _newest_first(folder / "runs"):
        report = _read(file, Report, "Remove the file")
        if report is not None:  # else another run has just removed it
            yield report


def read_outcomes(folder: Path, most: int) -> dict[str, list[LastRun]]:
    """Return the outcomes of each table in its last `most` kept runs, the newest first.

    Raises `UsageError` for a damaged file.
    """
    outcomes: dict[str, list[LastRun]] = {}
    for file in _newest_first(folder / "runs"):
        if (run := _read(file, _Outcomes, "Remove the file")) is None:
            continue
        for result in run.tables:
            if len(known := outcomes.setdefault(result.table, [])) < most:
                times = (run.run_id, run.started_at, run.finished_at)
                known.append(LastRun(*times, result.outcome, result.error))
    return outcomes


def read_run(folder: Path, run_id: str) -> Report:
    """Return the kept run whose id begins with a text.  Raises `UsageError` unless there is exactly one."""
    files = [file for file in _newest_first(folder / "runs") if _id_of(file).startswith(run_id)]
    report = _read(files[0], Report, "Remove the file") if len(files) == 1 else None
    if report is None:
        problem = f"run {run_id}: {len(files) or 'none'} of the kept runs begin with this id"
        raise UsageError(problem, "`ingest runs` lists the ids")
    return report


def _read(file: Path, kind: type[T], todo: str) -> T | None:
    """Read a value from a file, or return None if the file does not exist."""
    try:
        return structure(json.loads(file.read_text(encoding="utf-8")), kind)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError, cattrs.BaseValidationError) as error:
        raise UsageError(f"{file} cannot be read: {type(error).__name__}", todo) from error


def _write_outcome(folder: Path, report: RunReport, table: TableOutcome) -> None:
    error = str(table.error) if table.error else None
    last = LastRun(
        report.run_id, report.started_at, report.finished_at, table.outcome, error, table.exit_code
    )
    write_whole(_outcome_file(folder, table.table), json.dumps(last.to_json(), ensure_ascii=False) + "\n")


def _write_run(folder: Path, report: RunReport) -> None:
    """Store a run, in place of the one before it if the two are of one series."""
    before = next(iter(_newest_first(folder)), None)
    file = folder / f"{report.started_at:%Y%m%dT%H%M%S.%f}-{report.run_id}.json"
    write_whole(file, json.dumps(report.to_json(), ensure_ascii=False) + "\n")
    if before is not None and before != file and _continues(report.report(), before):
        before.unlink(missing_ok=True)


def _continues(report: Report, before: Path) -> bool:
    """Whether a run follows soon after another one, and has no news compared with it."""
    try:
        earlier = _read(before, Report, "")
    except UsageError:
        return False
    if earlier is None:
        return False
    outcomes, is_soon = _outcomes(report), report.started_at - earlier.finished_at < _SERIES
    return is_soon and outcomes == _outcomes(earlier) and "committed" not in outcomes.values()


def _outcomes(report: Report) -> dict[str, str]:
    return {table.table: table.error or table.outcome for table in report.tables}


def _newest_first(folder: Path) -> list[Path]:
    return sorted(folder.glob("[0-9]*.json"), reverse=True)


def _id_of(file: Path) -> str:
    return file.stem.partition("-")[2]


def _outcome_file(folder: Path, table: str) -> Path:
    return folder / "outcomes" / f"{table}.json"
