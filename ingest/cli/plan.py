"""`ingest plan`: preview a run, without writing."""

from collections import Counter
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Final

import attrs
from cyclopts import Parameter
from cyclopts.validators import Number

from ingest.cli.completer import table_parameter
from ingest.cli.display import show_progress
from ingest.cli.options import Deployment
from ingest.cli.output import claim_stdout, lay_out, print_json, print_page, print_text, width
from ingest.cli.page import CommandPage, Json
from ingest.names import first_few
from ingest.operations import plan as planning

if TYPE_CHECKING:
    from ingest.operations.rebuild.rebuild_plan import RebuildPlan
    from ingest.operations.table_plan import PlanOutcome, TablePlan, VersionPlan
    from ingest.operations.versions import PlannedChange
    from ingest.order.batch_counts import BatchCounts

_MARKS: "Final[dict[PlanOutcome, str]]" = {"idle": " ", "commit": "~", "fail": "!", "temporary": "?"}
_VERDICTS: "Final[dict[PlanOutcome, str]]" = {
    "commit": "to commit",
    "idle": "idle",
    "fail": "would fail",
    "temporary": "cannot be planned now",
}

app = CommandPage(name="plan", help_format="markdown")


@app.default
def plan(
    *tables: Annotated[str, table_parameter("Tables to plan, by name or glob ('crm_*'), by default all.")],
    max_offsets: Annotated[
        int | None,
        Parameter(help="Offsets to look at per table at most, by default all.", validator=Number(gte=1)),
    ] = None,
    exit_code: Annotated[bool, Parameter(negative=(), help="Exit with 3 if a run would commit.")] = False,
    json: Json = False,
    deployment: Deployment = Deployment(),
) -> int:
    """Preview a run without writing: schema versions against the table, pending offsets, problems.

    Reads the pending offsets exactly as a run does. Exit code 0: a run would pass, or has nothing to do.
    1: a table would fail. 75: something could not be reached. With `--exit-code`, 0 means that a run has
    nothing to do, and 3 that it would pass and commit.

    Example: `ingest plan server1_dbo_customers`
    """
    claim_stdout()
    with (
        deployment.open() as session,
        show_progress(session.settings.run.heartbeat_s, session.spark_stages) as progress,
    ):
        plans = session.plan(tables, max_offsets=max_offsets, progress=progress)
    if json:
        print_json([table_plan.to_json() for table_plan in plans])
    else:
        for table_plan in plans:
            show_plan(table_plan)
        verdicts = Counter(table_plan.verdict for table_plan in plans)
        counts = [f"{verdicts[verdict]} {_VERDICTS[verdict]}" for verdict in _VERDICTS if verdicts[verdict]]
        print_text(f"Plan: {', '.join(counts)}.")
    return planning.exit_code(plans, detailed=exit_code)


def show_plan(table_plan: "TablePlan") -> None:
    """Print one table's plan, or the plan of each topic of a table of several."""
    if table_plan.topics:
        topics = len(table_plan.topics)
        print_text(f"{_MARKS[table_plan.verdict]} {table_plan.table}, of {topics} topics:")
        for topic in table_plan.topics:
            show_plan(attrs.evolve(topic, table=f"{topic.table} from {topic.topic}"))
        return
    span = table_plan.ranges.span if table_plan.ranges else 0
    pending = f"{span:,} offsets waiting" if span else "nothing waiting"
    new = " (new)" if table_plan.is_new else ""
    print_text(f"{_MARKS[table_plan.verdict]} {table_plan.table}{new}: {pending}")
    if table_plan.is_new_topic:
        print_text(f"new topic {table_plan.topic}: will be read from its beginning", indent=4)
    _show_columns(table_plan)
    for version in table_plan.versions:
        _show_version(version)
    for schema_id, reason in table_plan.refused.items():
        print_text(f"records of schema id {schema_id} are rejected: {reason}", indent=4, hanging=2)
    _show_work(table_plan)
    if table_plan.without_file:
        names, command = first_few(list(table_plan.without_file)), f"ingest onboard {quote(table_plan.topic)}"
        print_text(f"without a table file: {names}: `{command} --split`", indent=4, hanging=2)
    if table_plan.warning:
        print_text(f"with messages a run would fail: {table_plan.warning}", indent=4, hanging=2)
    if table_plan.rebuild:
        _show_rebuild(table_plan.rebuild)
    if table_plan.error:
        print_text(f"{_VERDICTS[table_plan.verdict]}: {table_plan.error}", indent=4, hanging=2)
    print_text()


def _show_work(table_plan: "TablePlan") -> None:
    """Print what the run reads and writes beside the messages, and their effect."""
    if table_plan.rewrites:
        names = ", ".join(table_plan.rewrites)
        print_text(f"the whole table is rewritten, for {names}", indent=4, hanging=2)
    if table_plan.makes_index:
        print_text("the whole table is read, for its record index", indent=4, hanging=2)
    if table_plan.counts.read:
        print_text(_effect(table_plan.counts), indent=4, hanging=2)


def _effect(counts: "BatchCounts") -> str:
    rejected = f", {counts.rejected:,} rejected" if counts.rejected else ""
    names = first_few(list(counts.other_tables))
    others = f", {sum(counts.other_tables.values()):,} of other tables ({names})" if names else ""
    return f"{counts.upserted:,} to upsert, {counts.deleted:,} to delete{rejected}{others}"


def _show_rebuild(rebuild: "RebuildPlan") -> None:
    """Print the rebuild that a changed table file needs."""
    print_text(f"rebuild: {rebuild}: `{rebuild.command}`", indent=4, hanging=2)
    if rebuild.problem:
        print_text(f"! {rebuild.problem}", indent=6, hanging=2)


def _show_columns(table_plan: "TablePlan") -> None:
    """Print the change of the table itself, or only the number of columns for a new table."""
    columns = table_plan.columns
    if table_plan.is_new and columns:
        print_text(f"creates the table, with {len(columns):,} columns of the source", indent=4)
    elif columns:
        print_text("the table changes:", indent=4)
        rows = [
            (
                f"{'~' if change.was else '+'} {change.column}",
                " -> ".join(filter(None, (change.was, change.type))),
            )
            for change in columns
        ]
        for line in lay_out(("column", "type"), rows, width() - 6, elastic=("type",), show_header=False):
            print_page(f"      {line}".rstrip())


def _show_version(version: "VersionPlan") -> None:
    state = "records waiting" if version.waiting else "registered, not used yet"
    deleted = "deleted" if version.deleted else ""
    refusal = f"{version.level} refuses it" if version.refusal else ""
    notes = ", ".join(filter(None, (state, deleted, refusal)))
    print_text(f"version {version.version} (id {version.schema_id}): {notes}", indent=4)
    if version.problem:
        print_text(f"! {version.problem}", indent=6, hanging=2)
    if version.changes:
        headings = ("column", "change", "types", "policy")
        rows = [_row(change) for change in version.changes]
        elastic = ("types", "policy")
        for line in lay_out(headings, rows, width() - 6, elastic=elastic, show_header=False):
            print_page(f"      {line}".rstrip())


def _row(planned: "PlannedChange") -> tuple[str, ...]:
    change = planned.change
    mark = "!" if planned.policy == "fail" else "-" if not change.type else "~" if change.was else "+"
    types = " -> ".join(filter(None, (change.was, change.type)))
    policy = f"{planned.policy}: {planned.effect}"
    return f"{mark} {change.column or '(envelope)'}", change.kind, types, policy
