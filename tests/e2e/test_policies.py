"""`[evolution]` decides: a change is followed, ignored, rejected or fatal, as the plan predicted."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

import attrs
import pytest

from ingest.errors import EvolutionError
from ingest.local.servers import Addresses
from ingest.operations.table_plan import TablePlan
from ingest.report.outcome import TableOutcome
from ingest.testing import Columns, Row, decimal, nullable, timestamp
from tests.e2e.changes import NOON, NOON_S
from tests.e2e.deployment import Deployment
from tests.e2e.events import make_topics
from tests.e2e.tablefiles import add_text, allow_rejects, set_policies

pytestmark = [pytest.mark.spark, pytest.mark.servers]

INT, TEXT, LONG = nullable("int"), nullable("string"), nullable("long")


@attrs.frozen
class Case:
    """A column `x` in two versions, with a value of each; policies; and the effect on the second.

    `rows`: the table's expected columns other than the key; by default only the first row, unchanged.
    """

    old: Columns
    new: Columns
    first: Row
    second: Row
    policies: Mapping[str, str] = attrs.Factory(dict)
    fails: str = ""
    """The kind of change that stops the run."""
    rows: Mapping[int, Row] | None = None
    rejected: int = 0
    storage: str = "cow"
    text: str = ""
    """Lines of the table file."""

    @property
    def expected(self) -> dict[int, Row]:
        """Rows by key."""
        if self.rows is None:
            return {1: {**self.first}}
        return {key: {**row} for key, row in self.rows.items()}


def clash(old: Any, first: Any, new: Any, second: Any, **options: Any) -> Case:
    """Return a case of a column with a clashing type."""
    return Case({"x": old}, {"x": new}, {"x": first}, {"x": second}, **options)


def added(**options: Any) -> Case:
    """Return a case of a column that the second version adds."""
    return Case({"x": INT}, {"x": INT, "y": TEXT}, {"x": 1}, {"x": 2, "y": "n"}, **options)


def dropped(**options: Any) -> Case:
    """Return a case of a column that the second version drops."""
    return Case({"x": INT, "y": TEXT}, {"x": INT}, {"x": 1, "y": "o"}, {"x": 2}, **options)


def renamed(**options: Any) -> Case:
    """Return a case of a renamed column."""
    return Case({"x": INT}, {"z": INT}, {"x": 1}, {"z": 2}, **options)


MILLIS = NOON_S * 1000
CHANGED, WIDENED = "column-changed", "column-widened"
REJECTED = {CHANGED: "reject"}
CASES: Final[Mapping[str, Case]] = {
    # fatal by default
    "int_text": clash(INT, 7, TEXT, "seven", fails=CHANGED),
    "too_wide": clash(
        nullable(decimal(38, 0)), Decimal(7), nullable(decimal(38, 9)), Decimal("7.123456789"), fails=CHANGED
    ),
    "narrowed": clash(LONG, 1 << 40, INT, 7, fails="column-narrowed"),
    # allowed by default
    "digits": clash(
        nullable(decimal(19, 2)), Decimal("7.00"), nullable(decimal(9, 2)), Decimal("8.00"),
        rows={1: {"x": Decimal("7.00")}, 2: {"x": Decimal("8.00")}},
    ),
    # allowed by the table file
    "narrowed_evolve": clash(
        LONG, 1 << 40, INT, 7, policies={"column-narrowed": "evolve"}, rows={1: {"x": 1 << 40}, 2: {"x": 7}}
    ),
    "clash_column": clash(
        INT, 7, TEXT, "seven", policies={CHANGED: "evolve"},
        rows={1: {"x": 7, "x_v2": None}, 2: {"x": None, "x_v2": "seven"}},
    ),
    "clash_column_mor": clash(
        TEXT, "o", nullable(decimal(9, 2)), Decimal("1.25"), policies={CHANGED: "evolve"}, storage="mor",
        rows={1: {"x": "o", "x_v2": None}, 2: {"x": None, "x_v2": Decimal("1.25")}},
    ),
    "clash_ignored": clash(
        INT, 7, TEXT, "seven", policies={CHANGED: "ignore"}, rows={1: {"x": 7}, 2: {"x": None}}
    ),
    "clash_rejected": clash(INT, 7, TEXT, "seven", policies=REJECTED, rejected=1),
    # forbidden by the table file
    "added_ignored": added(policies={"column-added": "ignore"}, rows={1: {"x": 1}, 2: {"x": 2}}),
    "added_rejected": added(policies={"column-added": "reject"}, rejected=1),
    "added_failed": added(policies={"column-added": "fail"}, fails="column-added"),
    "dropped_rejected": dropped(policies={"column-dropped": "reject"}, rejected=1),
    "dropped_failed": dropped(policies={"column-dropped": "fail"}, fails="column-dropped"),
    "widened_failed": clash(INT, 7, LONG, 1 << 40, policies={WIDENED: "fail"}, fails=WIDENED),
    "quiet_failed": clash(
        nullable(timestamp("ms")), MILLIS, nullable(timestamp("us")), MILLIS * 1000,
        policies={"time-precision-changed": "fail"}, fails="time-precision-changed", rows={1: {"x": NOON}},
    ),
    # names
    "renamed_declared": renamed(text='[columns.z]\nrename = "x"', rows={1: {"x": 1}, 2: {"x": 2}}),
    "renamed_unsaid": renamed(rows={1: {"x": 1, "z": None}, 2: {"x": None, "z": 2}}),
}  # fmt: skip


@attrs.frozen
class Decided:
    """The plan for each table's second version, the outcome, and the table's rows."""

    deployment: Deployment
    planned: Mapping[str, TablePlan]
    done: Mapping[str, TableOutcome]


@pytest.fixture(scope="module")
def decided(shared_deployment: Deployment, servers: Addresses) -> Decided:
    """Run the first versions, then plan and run the second ones."""
    deployment = shared_deployment
    id_column = {"id": "int"}
    names = {f"pol.db.dbo.{name}": {**id_column, **case.old} for name, case in CASES.items()}
    topics = make_topics(servers, names)
    deployment.onboard(["pol.db.dbo.*"])
    allow_rejects(deployment)
    for name, case in CASES.items():
        set_policies(deployment, name, case.policies)
        path = deployment.tables / f"{name}.toml"
        path.write_text(path.read_text().replace('type = "cow"', f'type = "{case.storage}"'))
        add_text(deployment, name, case.text)
        topics[name].produce(topics[name].create({"id": 1, **case.first}))
    assert deployment.run().outcome == "done"
    for name, case in CASES.items():
        topics[name].version({**id_column, **case.new})
        topics[name].produce(topics[name].create({"id": 2, **case.second}))
    planned = {plan.table: plan for plan in deployment.plan()}
    return Decided(deployment, planned, {outcome.table: outcome for outcome in deployment.run().tables})


@pytest.mark.parametrize("name", CASES)
def test_the_policy_decides(decided: Decided, name: str) -> None:
    """The run fails with the named kind, or the table holds the result of the policy."""
    case, done = CASES[name], decided.done[name]
    if case.fails:
        assert isinstance(done.error, EvolutionError), done.error
        assert (done.error.kind, done.error.table, done.instant) == (case.fails, name, None)
        assert f"{name}-value v2" in str(done.error)
    else:
        assert done.error is None
        assert done.counts.rejected == case.rejected
    rows = decided.deployment.frame(name).drop("_hoodie_commit_time").collect()
    own = [{n: v for n, v in row.asDict().items() if not n.startswith("_")} for row in rows]
    assert {row.pop("id"): row for row in own} == case.expected


@pytest.mark.parametrize("name", CASES)
def test_the_plan_predicts_it(decided: Decided, name: str) -> None:
    """The same verdict, changes and counts; the same error, word for word."""
    plan, done = decided.planned[name], decided.done[name]
    assert plan.verdict == ("fail" if CASES[name].fails else "commit")
    assert str(plan.error) == str(done.error)
    if not CASES[name].fails:
        assert (plan.changes, plan.counts) == (done.schema_changes, done.counts)
        assert bool(plan.refused) == bool(CASES[name].rejected)
    (version,) = plan.versions
    assert (version.version, version.waiting, version.level) == (2, True, "NONE")
    assert bool([change for change in version.changes if change.policy == "fail"]) == bool(CASES[name].fails)


def test_a_stopped_table_stays_stopped_until_the_policy_changes(decided: Decided) -> None:
    """Offsets stay; with another policy the same records pass, and rejects can be replayed."""
    deployment = decided.deployment
    (status,) = deployment.session.status(["int_text"])
    assert status.last is not None
    assert (status.last.next_offsets, status.lag) == ({0: 1}, 1)
    set_policies(deployment, "int_text", {"column-changed": "evolve"})
    path = deployment.tables / "clash_rejected.toml"
    path.write_text(path.read_text().replace('column-changed = "reject"', 'column-changed = "evolve"'))

    (done,) = deployment.run(["int_text"]).tables
    replayed = deployment.session.replay("clash_rejected")

    assert done.outcome == "committed"
    assert replayed.resolved == 1
    for name in ("int_text", "clash_rejected"):
        rows = deployment.frame(name).select("id", "x", "x_v2").orderBy("id").collect()
        assert [tuple(row) for row in rows] == [(1, 7, None), (2, None, "seven")]
