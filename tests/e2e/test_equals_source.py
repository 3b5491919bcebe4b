"""Every recording becomes tables that equal the source's rows, in any order of arrival."""

from collections.abc import Callable
from itertools import product

import pytest

from tests.e2e.deployment import Deployment
from tests.e2e.recordings import (
    MONGODB,
    MYSQL,
    ORACLE,
    ORACLE_RAC,
    POSTGRES,
    POSTGRES_JSON,
    SQLSERVER,
    SQLSERVER_JSON,
    Recording,
)
from tests.e2e.referee import differences, read_expected, read_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Plan = Callable[[Deployment, str], None]


def one_run(deployment: Deployment, kind: str) -> None:
    """Everything at once."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run()


def small_runs(deployment: Deployment, kind: str) -> None:
    """Many runs of a few offsets each.  Spark interprets a table's queries in the first run only."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run_until_idle(max_offsets=60)


def repeated_runs(deployment: Deployment, kind: str) -> None:
    """Every range twice: the offsets move back after each run."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run(max_offsets=90)
    _move_back(deployment)
    deployment.run(max_offsets=45)
    deployment.run()
    _move_back(deployment)
    deployment.run_until_idle(max_offsets=60)


def slices(deployment: Deployment, kind: str) -> None:
    """Messages and schema versions that arrive between runs."""
    deployment.load(limit=40)
    deployment.onboard(type=kind)
    deployment.run()
    for limit in (100, 160):
        deployment.load(limit=limit)
        deployment.run()
    deployment.load()
    deployment.run()


def three_partitions(deployment: Deployment, kind: str) -> None:
    """Keys spread over partitions, in runs of a few offsets."""
    deployment.load(partitions=3)
    deployment.onboard(type=kind)
    deployment.run_until_idle(max_offsets=75)


def three_partitions_at_once(deployment: Deployment, kind: str) -> None:
    """Keys spread over partitions, everything at once."""
    deployment.load(partitions=3)
    deployment.onboard(type=kind)
    deployment.run()


def _move_back(deployment: Deployment) -> None:
    for table in deployment.recording.tables:
        deployment.session.move_offsets(table, "earliest")


PLANS: tuple[Plan, ...] = (
    one_run, small_runs, repeated_runs, slices, three_partitions, three_partitions_at_once,
)  # fmt: skip


# Each connector, each plan and both types at least once, to save time; `-m pairs` runs the rest, and
# tests/e2e/test_forms.py reads JSON.
USUAL = {
    *product((SQLSERVER, POSTGRES, ORACLE), (one_run,), ("cow",)),
    (MYSQL, slices, "cow"),
    (ORACLE_RAC, one_run, "mor"),
    (SQLSERVER, repeated_runs, "cow"),
    *product((SQLSERVER, MONGODB), (small_runs,), ("mor",)),
    (SQLSERVER, three_partitions, "mor"),
    (MONGODB, three_partitions_at_once, "cow"),
}
RECORDINGS = (SQLSERVER, POSTGRES, ORACLE, ORACLE_RAC, MONGODB, MYSQL, POSTGRES_JSON, SQLSERVER_JSON)
CASES = [
    pytest.param(*case, id=f"{case[0].name}-{case[1].__name__}-{case[2]}", marks=marks)
    for case in product(RECORDINGS, PLANS, ("cow", "mor"))
    for marks in [() if case in USUAL else pytest.mark.pairs]
]


@pytest.mark.parametrize(("recording", "plan", "kind"), CASES)
def test_tables_equal_the_source(
    recording: Recording, plan: Plan, kind: str, make_deployment: Callable[[Recording], Deployment]
) -> None:
    """Every cell of every table equals the source's, and no offset is pending."""
    deployment = make_deployment(recording)

    plan(deployment, kind)

    wrong = {table: _differences(deployment, table) for table in recording.tables}
    assert {table: lines for table, lines in wrong.items() if lines} == {}
    last = deployment.run()
    assert {outcome.table: outcome.outcome for outcome in last.tables} == dict.fromkeys(
        recording.tables, "idle"
    )


def _differences(deployment: Deployment, table: str) -> list[str]:
    expected = read_expected(deployment.recording, table)
    rows = read_table(deployment.frame(table), expected.keys, expected.kinds)
    return differences(expected.rows, rows)
