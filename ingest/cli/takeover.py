"""The output of the commands that begin a table with rows from elsewhere."""

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from ingest.cli.output import print_json, print_table, print_text, show_errors

if TYPE_CHECKING:
    from ingest.adopt.plan import Takeover, TakeoverPlan

Nulls = Annotated[
    tuple[str, ...],
    Parameter(
        name="--null",
        negative=(),
        help="A column that the rows lack, to leave null in all of them (repeatable).",
    ),
]


def show_result(result: "Takeover", *, as_json: bool) -> int:
    """Print a result, and return the exit code."""
    if as_json:
        print_json(result.to_json())
    else:
        _show(result)
    return show_errors([result])


def _show(result: "Takeover") -> None:
    if result.outcome == "idle":
        print_text(f"{result.table}: nothing to do: {result.note}")
    if result.plan is None:
        return
    print_text(
        f"{result.table}: {'would take' if result.outcome == 'planned' else 'took'} over {result.plan}"
    )
    print_text()
    _show_columns(result.plan)
    for note in result.plan.notes:
        print_text(note)
    if result.outcome == "planned":
        print_text("Dry run: nothing was written")
    else:
        print_text(f"{result.plan.rows:,} rows in {result.seconds:.1f} s, commit {result.instant}")


def _show_columns(plan: "TakeoverPlan") -> None:
    rows = [
        (
            column.name,
            str(column.spark),
            column.origin if column.origin != column.name else "",
            ""
            if column.fit == "same"
            else f"{column.fit}: {column.origin_type}"
            if column.origin
            else "null",
            column.mask or "",
        )
        for column in plan.columns.all
    ]
    print_table(("column", "type", "from", "conversion", "mask"), rows)
    print_text()
    if plan.columns.dropped:
        print_text(f"not in the source's schema, left out: {', '.join(plan.columns.dropped)}")
