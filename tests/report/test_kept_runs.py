"""The last runs in the state folder: kept, listed, removed, and what they say of each table."""

import json
import logging
from datetime import UTC, datetime, timedelta
from pathlib import Path

import attrs
import pytest

from ingest.errors import (
    BrokerUnreachableError,
    IngestError,
    StoppedError,
    TableFileError,
    UnexpectedError,
    UsageError,
)
from ingest.names import Instant, Topic
from ingest.report.contract import Outcome
from ingest.report.kept_runs import keep, read_outcome, read_run, read_runs
from ingest.report.outcome import RunReport, TableOutcome, failed

START = datetime(2026, 11, 25, 7, 0, tzinfo=UTC)
IDLE = TableOutcome("quiet", Topic("t"), "idle")


def run(number: int, *tables: TableOutcome, after: timedelta = timedelta(hours=1)) -> RunReport:
    """Make the report of a run: the `number`th, each `after` the one before, and a second long."""
    start = START + number * after
    return RunReport(f"{number:08}-run", start, start + timedelta(seconds=1), tables or (IDLE,))


def stopped_by(error: IngestError, table: str = "orders") -> TableOutcome:
    """Make the outcome of a table that an error stopped."""
    return failed(table, Topic("t"), error, 1.0)


def ids(folder: Path) -> list[str]:
    """Return the ids of the kept runs."""
    return [report.run_id for report in read_runs(folder)]


def test_the_newest_runs_are_kept_as_their_reports(tmp_path: Path) -> None:
    """Newest first, each with all that `--report` has, found by the beginning of its id."""
    reports = [run(number) for number in range(5)]
    for report in reports:
        keep(tmp_path, report, most=3)
    assert ids(tmp_path) == ["00000004-run", "00000003-run", "00000002-run"]
    assert next(read_runs(tmp_path)) == reports[-1].report()
    assert read_run(tmp_path, "00000003") == reports[3].report()
    for missing in ("00000000", "0000000"):
        with pytest.raises(UsageError, match="ingest runs"):
            read_run(tmp_path, missing)


def test_without_reports_the_outcome_of_each_table_is_still_known(tmp_path: Path) -> None:
    """`[run] keep_runs = 0`."""
    keep(tmp_path, run(1), most=0)
    assert ids(tmp_path) == []
    assert read_outcome(tmp_path, "quiet") is not None


def test_runs_without_news_within_a_minute_are_one(tmp_path: Path) -> None:
    """As of `--follow`: a commit, another error, or a break begin a new one."""
    seconds = timedelta(seconds=10)
    commit = attrs.evolve(IDLE, outcome="committed", instant=Instant("1"))
    gone = attrs.evolve(stopped_by(BrokerUnreachableError("b:9092", "gone")), table="quiet")
    for number, outcome in enumerate([IDLE, IDLE, commit, commit, gone, gone, IDLE, IDLE, IDLE]):
        keep(tmp_path, run(number, outcome, after=seconds), most=100)
    assert [int(name[:8]) for name in ids(tmp_path)] == [8, 5, 3, 2, 1]
    keep(tmp_path, run(100, after=seconds), most=100)
    assert len(ids(tmp_path)) == 6


@pytest.mark.parametrize(
    ("error", "outcome", "code"),
    [
        (UnexpectedError("table orders", "no idea"), "failed", 1),
        (TableFileError("orders.toml", "key", "is wrong", ""), "failed", 2),
        (BrokerUnreachableError("b:9092", "gone"), "temporary", 75),
    ],
)
def test_a_failure_stays_until_a_later_run_passes(
    error: IngestError, outcome: Outcome, code: int, tmp_path: Path
) -> None:
    """With its text and its exit code; the outcomes of other tables and a stopped run leave it in place."""
    keep(tmp_path, run(1, IDLE, stopped_by(error)), most=9)
    keep(tmp_path, run(2, IDLE), most=9)
    keep(tmp_path, run(3, stopped_by(StoppedError("orders", "SIGTERM"))), most=9)
    last = read_outcome(tmp_path, "orders")
    assert last is not None
    assert (last.run_id, last.outcome, last.error, last.exit_code) == (
        "00000001-run", outcome, str(error), code,
    )  # fmt: skip
    assert (last.started_at, last.is_failure) == (START + timedelta(hours=1), True)

    keep(tmp_path, run(4, attrs.evolve(IDLE, table="orders")), most=9)
    last = read_outcome(tmp_path, "orders")
    assert last is not None
    assert (last.run_id, last.is_failure, last.error) == ("00000004-run", False, None)
    assert read_outcome(tmp_path, "never") is None


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"run_id": 1}'])
def test_a_damaged_file_is_named(content: str, tmp_path: Path) -> None:
    """With what makes it whole again; the next run keeps its report all the same."""
    keep(tmp_path, run(1), most=9)
    (tmp_path / "outcomes" / "quiet.json").write_text(content)
    next((tmp_path / "runs").iterdir()).write_text(content)
    with pytest.raises(UsageError, match=r"quiet\.json.*ingest run quiet"):
        read_outcome(tmp_path, "quiet")
    with pytest.raises(UsageError, match="Remove the file"):
        ids(tmp_path)
    with pytest.raises(UsageError, match="Remove the file"):
        read_run(tmp_path, "00000001")
    keep(tmp_path, run(2), most=1)
    assert ids(tmp_path) == ["00000002-run"]
    assert json.loads((tmp_path / "outcomes" / "quiet.json").read_text())["outcome"] == "idle"


def test_a_folder_that_cannot_be_written_fails_no_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The log says so."""
    (tmp_path / "outcomes").touch()
    with caplog.at_level(logging.WARNING):
        keep(tmp_path, run(1), most=9)
    assert "run.not-kept" in caplog.text
