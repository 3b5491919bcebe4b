"""Changing keys, and versions that are not events of the table, on any storage and in any order."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import pytest

from ingest.local.servers import Addresses
from ingest.operations.table_plan import TablePlan
from ingest.report.outcome import TableOutcome
from ingest.testing import key_schema, nullable
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import allow_rejects, copy_table, set_policies

pytestmark = [pytest.mark.spark, pytest.mark.servers]

COLUMNS: Final = {"id": "int", "n": nullable("int")}
POLICIES: Final = {"drift": {"key-changed": "ignore"}, "foreign": {"envelope-changed": "reject"}}
SLICES: Final = {"stepwise": (3, 3, 2), "mixed": (3, 5), "at_once": (8,)}
"""Messages of each run: only the new version, then the old one again; both together; all in the first run."""
TABLES: Final = [
    (group, slices, storage) for group in POLICIES for slices in SLICES for storage in ("cow", "mor")
]


def change(op: str, number: int, n: int) -> Change:
    """Return a change with its value as position in the log."""
    return Change(op, {"id": number, "n": n}, at=n)


def send_drift(topic: Topic) -> None:
    """Send three keys of one column, three of two columns, two of one column."""
    first = topic.key_id
    topic.send(*(change("c", n, n) for n in (1, 2, 3)))
    topic.key_version(COLUMNS)
    topic.send(change("u", 2, 10), change("c", 4, 11), change("c", 5, 12))
    topic.key, topic.key_id = {"id": "int"}, first
    topic.send(change("u", 3, 13), change("u", 5, 14))


def send_foreign(topic: Topic) -> None:
    """Send three events, three records of a version that is not an event, two events."""
    topic.send(*(change("c", n, n) for n in (1, 2, 3)))
    foreign = topic.servers.register(f"{topic.name}-value", key_schema("some.Thing", {"id": "int"}), "NONE")
    value = b"\0" + foreign.to_bytes(4, "big") + b"\x04"
    topic.produce((topic.key_bytes({"id": n}), value) for n in (2, 4, 5))
    topic.send(change("u", 3, 13), change("c", 5, 14))


@attrs.frozen
class Done:
    """The tables, run by run: plans, outcomes, and the values of `n` by key."""

    planned: Mapping[str, Sequence[TablePlan]]
    done: Mapping[str, Sequence[TableOutcome]]
    rows: Mapping[str, Mapping[int, int]]


@pytest.fixture(scope="module")
def done(shared_deployment: Deployment, servers: Addresses) -> Done:
    """Plan and run every table, slice by slice."""
    deployment = shared_deployment
    topics = make_topics(servers, {f"drift.db.dbo.{group}": COLUMNS for group in POLICIES})
    deployment.onboard(["drift.db.dbo.*"])
    send_drift(topics["drift"])
    send_foreign(topics["foreign"])
    allow_rejects(deployment)
    for group, policies in POLICIES.items():
        set_policies(deployment, group, policies)
    for group, slices, storage in TABLES:
        copy_table(deployment, group, f"{group}_{slices}_{storage}", type=f'"{storage}"')
    planned: dict[str, list[TablePlan]] = {}
    outcomes: dict[str, list[TableOutcome]] = {}
    for slices, sizes in SLICES.items():
        names = ["_".join(table) for table in TABLES if table[1] == slices]
        for size in sizes:
            for plan in deployment.plan(names, max_offsets=size):
                planned.setdefault(plan.table, []).append(plan)
            for outcome in deployment.run(names, max_offsets=size).tables:
                outcomes.setdefault(outcome.table, []).append(outcome)
    rows = {name: {row["id"]: row["n"] for row in deployment.frame(name).collect()} for name in outcomes}
    return Done(planned, outcomes, rows)


@pytest.mark.parametrize("table", TABLES, ids="_".join)
def test_the_table_continues_as_the_policy_says(done: Done, table: tuple[str, str, str]) -> None:
    """The table keeps its key; records that are not events are rejected, the others applied."""
    name = "_".join(table)
    expected = {1: 1, 2: 10, 3: 13, 4: 11, 5: 14} if table[0] == "drift" else {1: 1, 2: 2, 3: 13, 5: 14}
    assert done.rows[name] == expected
    assert sum(outcome.counts.rejected for outcome in done.done[name]) == (3 if table[0] == "foreign" else 0)


@pytest.mark.parametrize("table", TABLES, ids="_".join)
def test_each_plan_predicts_its_run(done: Done, table: tuple[str, str, str]) -> None:
    """Verdict, changes, counts, and the schema ids of rejected records."""
    name = "_".join(table)
    for plan, run in zip(done.planned[name], done.done[name], strict=True):
        assert (plan.verdict, run.outcome) == ("commit", "committed"), plan.error or run.error
        assert (plan.changes, plan.counts) == (run.schema_changes, run.counts)
        assert bool(plan.refused) == bool(run.counts.rejected)
