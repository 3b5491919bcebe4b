"""`ingest plan`: what a run would do, without writing."""

from collections import Counter
from typing import TYPE_CHECKING, Annotated, Final

from cyclopts import Parameter
from cyclopts.validators import Number

from ingest.cli.options import Deployment, Json
from ingest.cli.output import claim_stdout, lay_out, print_json, print_page, print_text, show_progress, width

if TYPE_CHECKING:
    from ingest.operations.plan import PlanOutcome, TablePlan, VersionPlan
    from ingest.operations.versions import PlannedChange

_MARKS: "Final[dict[PlanOutcome, str]]" = {"idle": " ", "commit": "~", "fail": "!", "temporary": "?"}
_SAID: "Final[dict[PlanOutcome, str]]" = {
    "commit": "to commit",
    "idle": "idle",
    "fail": "would fail",
    "temporary": "cannot be planned now",
}


def plan(
    *tables: Annotated[str, Parameter(help="Tables to plan; all of them without any.")],
    max_offsets: Annotated[
        int | None,
        Parameter(help="Offsets to look at at the most, per table, as of a run.", validator=Number(gte=1)),
    ] = None,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Show what a run would do, without writing: schema versions against the table, what waits, problems.

    The pending offsets are read as a run reads them. Exit code 0: a run would pass, or has nothing to do;
    1: a table would fail; 75: something could not be reached.

    Example: `ingest plan server1_dbo_customers`
    """
    from ingest.operations.plan import exit_code  # noqa: PLC0415  light start

    claim_stdout()
    with deployment.open() as session, show_progress() as progress:
        found = session.plan(tables, max_offsets=max_offsets, progress=progress)
    if json:
        print_json([one.to_json() for one in found])
    else:
        for one in found:
            show_plan(one)
        verdicts = Counter(one.verdict for one in found)
        told = [f"{verdicts[one]} {_SAID[one]}" for one in _SAID if verdicts[one]]
        print_text(f"Plan: {', '.join(told)}.")
    return exit_code(found)


def show_plan(one: "TablePlan") -> None:
    """Print one table's plan."""
    span = one.ranges.span if one.ranges else 0
    waiting = f"{span:,} offsets waiting" if span else "nothing waiting"
    print_text(f"{_MARKS[one.verdict]} {one.table}{' (new)' if one.is_new else ''}: {waiting}")
    for version in one.versions:
        _show_version(version)
    for schema_id, reason in one.refused.items():
        print_text(f"records of id {schema_id} are set aside: {reason}", indent=4, hanging=2)
    if one.rewrites:
        names = ", ".join(one.rewrites)
        print_text(f"the whole table is written anew, for {names}", indent=4, hanging=2)
    counts = one.counts
    if counts.read:
        rejected = f", {counts.rejected:,} rejected" if counts.rejected else ""
        print_text(f"{counts.upserted:,} to upsert, {counts.deleted:,} to delete{rejected}", indent=4)
    if one.error:
        print_text(f"{_SAID[one.verdict]}: {one.error}", indent=4, hanging=2)
    print_text()


def _show_version(one: "VersionPlan") -> None:
    state = "records waiting" if one.waiting else "registered, not used yet"
    notes = [state, "deleted" if one.deleted else "", f"{one.level} refuses it" if one.refusal else ""]
    print_text(f"version {one.version} (id {one.schema_id}): {', '.join(filter(None, notes))}", indent=4)
    if one.problem:
        print_text(f"! {one.problem}", indent=6, hanging=2)
    if one.changes:
        rows = [_row(change) for change in one.changes]
        headings = ("column", "change", "types", "policy")
        lines = lay_out(headings, rows, width() - 6, elastic=("types", "policy"))
        for line in lines[2:]:
            print_page(f"      {line}")


def _row(one: "PlannedChange") -> tuple[str, ...]:
    change = one.change
    mark = "!" if one.policy == "fail" else "-" if not change.type else "~" if change.was else "+"
    types = " -> ".join(filter(None, (change.was, change.type)))
    return f"{mark} {change.column or '(envelope)'}", change.kind, types, f"{one.policy}: {one.effect}"
