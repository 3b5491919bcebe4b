"""The exit code of a table in every command, and of several tables."""

from collections.abc import Callable
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import attrs
import pytest

from ingest.adopt.plan import Takeover
from ingest.cli.output import exit_code_of
from ingest.errors import IngestError, StoppedError, TableFileError, TableLockedError, UnexpectedError
from ingest.names import Topic
from ingest.operations.maintain import Maintained, Maintenance
from ingest.operations.plan import exit_code
from ingest.operations.rebuild.rebuild import Rebuilt
from ingest.operations.rejects.replay import Replayed
from ingest.operations.status.status import TableStatus, combined
from ingest.operations.table_plan import TablePlan
from ingest.operations.verify_files import FilesCheck
from ingest.order.batch_counts import BatchCounts
from ingest.report.outcome import RunReport, TableOutcome
from ingest.report.result import TableResult, worst, worst_error
from ingest.stop import INTERRUPTED
from ingest.verify.result import TableVerification, Verification

NOW = datetime(2026, 11, 25, tzinfo=UTC)
TOPIC = Topic("t")
LASTING, USAGE, PASSING = (
    UnexpectedError("table a", "no idea"),
    TableFileError("b.toml", "key", "is wrong", ""),
    TableLockedError("c", "another process"),
)
RESULTS: dict[str, Callable[[IngestError | None], TableResult]] = {
    "run": lambda error: TableOutcome("t", TOPIC, "failed" if error else "idle", error=error),
    "plan": lambda error: TablePlan("t", TOPIC, "fail" if error else "idle", error=error),
    "status": lambda error: TableStatus("t", TOPIC, "lake/t", error=error),
    "rebuild": lambda error: Rebuilt("t", "failed" if error else "idle", "table", error=error),
    "adopt, load": lambda error: Takeover("t", "failed" if error else "idle", error=error),
    "maintain": lambda error: Maintained("t", error=error),
    "rejects replay": lambda error: Replayed("t", error=error),
    "verify": lambda error: TableVerification("t", error=error),
    "check": lambda error: FilesCheck("t", "lake/t", error=error),
}
WHOLE: dict[str, Callable[[tuple[Any, ...]], int]] = {
    "run": lambda tables: RunReport("r", NOW, NOW, tables).exit_code,
    "plan": exit_code,
    "maintain": lambda tables: Maintenance("r", NOW, NOW, tables, is_dry=False).exit_code,
    "verify": lambda tables: Verification(NOW, NOW, tables).exit_code,
}
"""The results of commands that have one for all tables; the others return those of their tables."""


@pytest.mark.parametrize("command", RESULTS)
def test_the_smallest_code_that_is_not_0_wins_in_every_command(command: str) -> None:
    """1 before 2 before 75, in any order, with and without a table that is fine."""
    make = RESULTS[command]
    whole = WHOLE.get(command, exit_code_of)
    for errors, code in (
        ((None,), 0),
        ((None, PASSING), 75),
        ((PASSING, USAGE, None), 2),
        ((PASSING, USAGE, LASTING, None), 1),
        ((PASSING, LASTING), 1),
    ):
        for ordered in permutations(errors):
            assert whole(tuple(make(error) for error in ordered)) == code


@pytest.mark.parametrize("command", RESULTS)
def test_a_table_of_several_topics_has_the_code_of_the_worst(command: str) -> None:
    """By the same rule."""
    make = RESULTS[command]
    topics = (make(PASSING), make(LASTING), make(None))
    assert attrs.evolve(make(None), topics=topics).exit_code == 1
    assert worst_error(topics) == LASTING


def test_a_difference_counts_as_a_lasting_problem() -> None:
    """Rows that differ, files that are damaged, records that stay rejected; 75 for rows in flight."""
    assert TableVerification("t", counts={"missing": 1}).exit_code == 1
    assert TableVerification("t", in_flight=1).exit_code == 75
    assert Replayed("t", BatchCounts(rejected=1)).exit_code == 1
    assert worst([TableVerification("t", in_flight=1), TableVerification("t", counts={"extra": 2})]) == 1


def test_every_result_of_a_table_is_checked_here() -> None:
    """A new command has to say what it returns."""
    assert {type(make(None)) for make in RESULTS.values()} == set(TableResult.__subclasses__())


def test_ctrl_c_has_the_code_of_the_shell() -> None:
    """Whatever else happened."""
    stopped = RESULTS["run"](StoppedError("t", "SIGINT"))
    assert exit_code_of([stopped, RESULTS["run"](LASTING)]) == INTERRUPTED


def test_the_status_of_a_table_has_the_worst_error_of_its_topics() -> None:
    """The sum shows one of them."""
    topics = [TableStatus("t", TOPIC, "lake/t", error=error) for error in (PASSING, USAGE)]
    assert combined(topics).error == USAGE
