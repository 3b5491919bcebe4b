"""Every corpus of the fixtures becomes tables that equal the database's own rows, however it arrives."""

from collections.abc import Callable

import pytest

from tests.e2e.deployment import FIXTURE, TABLES, Deployment
from tests.e2e.referee import differences, read_expected, read_table

pytestmark = [pytest.mark.spark, pytest.mark.servers]

Plan = Callable[[Deployment, str], None]


def one_run(deployment: Deployment, kind: str) -> None:
    """Everything at once."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run()


def small_runs(deployment: Deployment, kind: str) -> None:
    """Many runs of a few offsets each."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run_until_idle(max_offsets=45)


def repeated_runs(deployment: Deployment, kind: str) -> None:
    """Every range twice: the offsets are moved back after each run."""
    deployment.load()
    deployment.onboard(type=kind)
    deployment.run(max_offsets=90)
    _move_back(deployment)
    deployment.run(max_offsets=45)
    deployment.run()
    _move_back(deployment)
    deployment.run_until_idle(max_offsets=60)


def slices(deployment: Deployment, kind: str) -> None:
    """Messages, and with them schema versions, that arrive between the runs."""
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
    for table in TABLES:
        deployment.session.move_offsets(table, "earliest")


PLANS: tuple[Plan, ...] = (
    one_run, small_runs, repeated_runs, slices, three_partitions, three_partitions_at_once,
)  # fmt: skip


@pytest.mark.parametrize("kind", ["cow", "mor"])
@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.__name__)
def test_tables_equal_the_source(plan: Plan, kind: str, make_deployment: Callable[[], Deployment]) -> None:
    """Every cell of every table is the database's, and nothing is left to read."""
    deployment = make_deployment()

    plan(deployment, kind)

    for table in TABLES:
        expected, keys = read_expected(FIXTURE / "expected" / f"{table}.json.gz")
        found = read_table(deployment.frame(table), keys)
        assert differences(expected, found) == [], table
    assert all(one.outcome == "idle" for one in deployment.run().tables)
