"""New schema versions reach the table as the plan predicted; no value is lost or corrupted."""

from collections.abc import Mapping, Sequence
from typing import Final

import attrs
import pytest
from pyspark.sql import DataFrame

from ingest.operations.table_plan import TablePlan
from ingest.report.outcome import TableOutcome
from ingest.testing import Columns, Row
from tests.e2e.changes import IN_PLACE, REWRITTEN, Case
from tests.e2e.deployment import Deployment
from tests.e2e.events import Change, Topic, make_topics
from tests.e2e.tablefiles import add_text, copy_table, set_policies

pytestmark = [pytest.mark.spark, pytest.mark.servers]


# --- changes in place ----------------------------------------------------------------------

GROUPS: Final = {"in_place": IN_PLACE, "rewritten": REWRITTEN}
SLICES: Final = {"stepwise": (3, 3, 2), "mixed": (3, 5), "at_once": (8,)}
"""Messages of each run: only the new version, then the old one again; both together; all in the first run."""
CELLS: Final = [(group, name) for group, cases in GROUPS.items() for name in cases]
GOES_ON: Final = dict.fromkeys(("column-narrowed", "decimal-narrowed", "column-changed"), "evolve")


def columns_of(cases: Mapping[str, Case], *, new: bool) -> Columns:
    """Return the columns of a version."""
    kinds = {
        (case.new_name or name) if new else name: case.new_type if new else case.old_type
        for name, case in cases.items()
    }
    return {"id": "int", **{name: kind for name, kind in kinds.items() if kind is not None}}


def row_of(cases: Mapping[str, Case], number: int, *, new: bool) -> Row:
    """Return a row that a version writes."""
    columns = columns_of(cases, new=new)
    values = {
        (case.new_name or name) if new else name: case.new if new else case.old
        for name, case in cases.items()
    }
    return {"id": number, **{name: value for name, value in values.items() if name in columns}}


def send_both_versions(topic: Topic, cases: Mapping[str, Case]) -> None:
    """Send three rows of the old version, three changes of the new one, then two of the old one."""
    old_id = topic.last_id
    topic.send(*(Change("c", row_of(cases, n, new=False), at=n) for n in (1, 2, 3)))
    aliases = {case.new_name: name for name, case in cases.items() if case.new_name and not case.renamed_by}
    topic.add_version(columns_of(cases, new=True), renamed=aliases)
    topic.send(
        Change("u", row_of(cases, 2, new=True), at=10),
        Change("c", row_of(cases, 4, new=True), at=11),
        Change("c", row_of(cases, 5, new=True), at=12),
    )
    topic.send(
        Change("u", row_of(cases, 3, new=False), at=13),
        Change("u", row_of(cases, 5, new=False), at=14),
        schema_id=old_id,
    )


WRITTEN_NEW: Final = {1: False, 2: True, 3: False, 4: True, 5: False}
"""Which version wrote the newest change of each row."""


@attrs.frozen
class Followed:
    """The tables of one storage type, run by run: plans, outcomes and rows."""

    planned: Mapping[str, Sequence[TablePlan]]
    done: Mapping[str, Sequence[TableOutcome]]
    rows: Mapping[str, Mapping[int, Row]]
    types: Mapping[str, Mapping[str, str]]


def rows_of(frame: DataFrame) -> dict[int, Row]:
    """Read a table's rows by key, structs as dicts."""
    records = [row.asDict(recursive=True) for row in frame.collect()]
    rows = {row["id"]: row for row in records}
    assert len(rows) == len(records)
    return rows


@pytest.fixture(scope="module")
def topics(shared_deployment: Deployment) -> None:
    """Create a topic for each group of changes, with both versions."""
    names = {f"evo.db.dbo.{group}": columns_of(cases, new=False) for group, cases in GROUPS.items()}
    built = make_topics(shared_deployment.servers, names)
    shared_deployment.onboard(["evo.db.dbo.*"])
    for group, cases in GROUPS.items():
        send_both_versions(built[group], cases)
        set_policies(shared_deployment, group, GOES_ON)
        for case in cases.values():
            add_text(shared_deployment, group, case.renamed_by)
        for storage in ("cow", "mor"):
            for slices in SLICES:
                copy_table(shared_deployment, group, f"{group}_{slices}_{storage}", type=f'"{storage}"')


@pytest.fixture(scope="module", params=["cow", "mor"])
def followed(request: pytest.FixtureRequest, shared_deployment: Deployment, topics: None) -> Followed:
    """Plan and run every table, slice by slice."""
    del topics
    planned: dict[str, list[TablePlan]] = {}
    done: dict[str, list[TableOutcome]] = {}
    for slices, sizes in SLICES.items():
        if slices == "at_once" and request.param == "mor":
            continue  # a first load is the same for both
        names = [f"{group}_{slices}_{request.param}" for group in GROUPS]
        for size in sizes:
            for plan in shared_deployment.plan(names, max_offsets=size):
                planned.setdefault(plan.table, []).append(plan)
            for outcome in shared_deployment.run(names, max_offsets=size).tables:
                done.setdefault(outcome.table, []).append(outcome)
    frames = {name: shared_deployment.frame(name) for name in done}
    rows = {name: rows_of(frame) for name, frame in frames.items()}
    short = {name.rpartition("_")[0]: name for name in done}
    return Followed(
        {name: planned[full] for name, full in short.items()},
        {name: done[full] for name, full in short.items()},
        {name: rows[full] for name, full in short.items()},
        {name: dict(frames[full].dtypes) for name, full in short.items()},
    )


@pytest.mark.parametrize(("group", "name"), CELLS)
def test_values_of_both_versions_read_back_right(followed: Followed, group: str, name: str) -> None:
    """In one type, whichever version came first or last; a column that a version lacks is null."""
    case = GROUPS[group][name]
    expected = {n: case.stored_new if new else case.stored_old for n, new in WRITTEN_NEW.items()}
    for table, rows in followed.rows.items():
        if table.startswith(group):
            assert {key: row[name] for key, row in rows.items()} == expected, table
            assert followed.types[table][name] == case.spark, table
            if case.extra_column:
                apart = {n: case.new if new else None for n, new in WRITTEN_NEW.items()}
                assert {key: row[case.extra_column] for key, row in rows.items()} == apart, table
            assert not case.new_name or case.new_name not in followed.types[table], table


@pytest.mark.parametrize(("group", "name"), CELLS)
def test_only_the_first_run_with_a_version_reports_its_change(
    followed: Followed, group: str, name: str
) -> None:
    """With kind and path; neither a late record of the old version nor a first load reports a change."""
    for slices in ("stepwise", "mixed"):
        first, second, *later = followed.done[f"{group}_{slices}"]
        reported = [
            (change.kind, change.column) for change in second.schema_changes if is_of(change.column, name)
        ]
        assert sorted(reported) == sorted(GROUPS[group][name].reported)
        assert not [change for run in (first, *later) for change in run.schema_changes]


def test_a_first_load_reports_only_columns_for_clashing_types(followed: Followed) -> None:
    """A first load changes no table, but clashing versions do not fit into one column."""
    reported = {
        table: [change.column for change in done[0].schema_changes] for table, done in followed.done.items()
    }
    assert {table: columns for table, columns in reported.items() if columns} in (
        {"in_place_at_once": ["clash"]},
        {},  # merge-on-read has no such case
    )


def is_of(path: str, column: str) -> bool:
    """Return whether a path belongs to a column."""
    return path.replace("[", ".").replace("{", ".").split(".")[0] == column


def test_every_plan_predicts_its_run(followed: Followed) -> None:
    """Changes, counts, schema ids, and the rewrite of the table."""
    for table, plans in followed.planned.items():
        for plan, done in zip(plans, followed.done[table], strict=True):
            assert (plan.verdict, done.outcome) == ("commit", "committed"), plan.error or done.error
            assert plan.changes == done.schema_changes
            assert plan.counts == done.counts
            assert plan.ranges == done.ranges
        rewrites = {plan.rewrites for plan in plans}
        anew = tuple(name for name in REWRITTEN if name not in ("beside", "same"))
        is_anew = table.startswith("rewritten") and "at_once" not in table
        assert rewrites == ({(), anew} if is_anew else {()})


def test_a_plan_lists_versions_new_to_the_table(followed: Followed) -> None:
    """With every difference from the previous version, until the table has read it."""
    first, second, third = followed.planned["in_place_stepwise"]
    assert [entry.version for entry in first.versions] == [1]  # the table is new
    (version,) = second.versions
    assert (version.version, version.waiting) == (2, True)
    planned = {(entry.change.kind, entry.change.column) for entry in version.changes}
    assert planned == {change for case in IN_PLACE.values() for change in case.reported}
    assert third.versions == ()
