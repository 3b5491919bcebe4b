"""How results reach a person or a program: tables, JSON, progress."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, TextIO

if TYPE_CHECKING:
    from ingest.run.table import Progress

WIDTH: Final = 100
"""Columns of plain text where there is no terminal to ask."""


def claim_stdout() -> None:
    """Keep standard output for ourselves: the JVM started later gets none.

    Hudi's memory estimator prints warnings there, whatever the log level, and would mix them into JSON.
    """
    sys.stdout.flush()
    ours = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.close(nowhere)
    sys.stdout = os.fdopen(ours, "w", encoding="utf-8")


def print_json(value: Any) -> None:
    """Print a value as one JSON document."""
    print(json.dumps(value, indent=2, ensure_ascii=False))  # noqa: T201  this is the output


def print_table(headings: Sequence[str], rows: Sequence[Sequence[Any]], right: Sequence[str] = ()) -> None:
    """Print rows in columns; headings in `right` align to the right, as numbers do."""
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415  light start
    from rich.table import Table  # noqa: PLC0415  same

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for heading in headings:
        table.add_column(heading, justify="right" if heading in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(_cell(value) for value in row))
    _console(sys.stdout).print(table)


def print_text(text: str = "") -> None:
    """Print a paragraph, folded to the width."""
    _console(sys.stdout).print(text, markup=False, highlight=False, soft_wrap=False)


def print_error(text: str) -> None:
    """Print one line on standard error."""
    sys.stderr.write(f"ingest: {text}\n")


@contextmanager
def show_progress() -> Iterator["Progress"]:
    """Show each table's step while it works, on a terminal; elsewhere stay silent."""
    if not sys.stderr.isatty():
        yield lambda _table, _step: None
        return
    status = _console(sys.stderr).status("starting")
    steps: dict[str, str] = {}

    def note(table: str, step: str) -> None:
        if step in ("committed", "idle", "failed", "temporary"):
            steps.pop(table, None)
        else:
            steps[table] = step
        status.update("  ·  ".join(f"{name} {what}".strip() for name, what in steps.items()))

    with status:
        yield note


def _cell(value: Any) -> str:
    from rich.markup import escape  # noqa: PLC0415  light start

    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return escape(str(value))


def _console(stream: TextIO) -> Any:
    from rich.console import Console  # noqa: PLC0415  light start

    return Console(file=stream, width=None if stream.isatty() else WIDTH, highlight=False)
