"""How results reach a person or a program: tables, paragraphs, JSON, progress."""

import json
import os
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ingest.run.context import Progress

WIDTH: Final = 100
"""Columns of plain text where there is no terminal to ask."""
GAP: Final = 2
"""Spaces between columns."""
ELASTIC_MIN: Final = 18
"""What an elastic column keeps, however long the names beside it are."""


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
    _print(json.dumps(value, indent=2, ensure_ascii=False))


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    elastic: Sequence[str] = (),
) -> None:
    """Print rows in columns; those in `right` align to the right, as numbers do.

    Only the columns in `elastic` fold to fit the width: a name stays whole, if need be beyond the width.  A
    column without any content is left out.  None shows as `-`, an empty text as nothing.
    """
    for line in lay_out(headings, rows, width(), right=right, elastic=elastic):
        _print(line)


def lay_out(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    width: int,
    *,
    right: Sequence[str] = (),
    elastic: Sequence[str] = (),
) -> list[str]:
    """Return the lines of `print_table` for a width."""
    cells = [[_plain(_cell(value)) for value in row] for row in rows]
    kept = [i for i in range(len(headings)) if any(row[i] not in ("", "-") for row in cells)]
    columns = [[headings[i], *(row[i] for row in cells)] for i in kept]
    folding = [headings[i] in elastic for i in kept]
    widths = _squeeze([max(map(len, column)) for column in columns], folding, width)
    to_right = [headings[i] in right for i in kept]
    heading, *body = (_lines(row, widths, to_right) for row in zip(*columns, strict=True))
    rule = "─" * (sum(widths) + GAP * (len(widths) - 1))
    return [*heading, rule, *(line for row in body for line in row)]


def print_text(text: str = "", *, indent: int = 0, hanging: int = 0) -> None:
    """Print a paragraph, folded at spaces; `hanging` indents its further lines by so much more."""
    folded = textwrap.wrap(
        _plain(text), width(), initial_indent=" " * indent, subsequent_indent=" " * (indent + hanging),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    _print("\n".join(folded))


def print_page(text: str) -> None:
    """Print a page as it is."""
    _print(text)


def print_error(text: str) -> None:
    """Print one line on standard error, whatever lines a cause from elsewhere has."""
    sys.stderr.write(f"ingest: {_plain(' '.join(text.split()))}\n")


def some(names: Sequence[str], limit: int = 4) -> str:
    """Return names for a person, the first few of many."""
    more = len(names) - limit
    return ", ".join(names) if more <= 1 else f"{', '.join(names[:limit])} and {more} more"


@contextmanager
def show_progress() -> Iterator["Progress"]:
    """Show each table's step while it works, on a terminal; elsewhere stay silent."""
    if not sys.stderr.isatty():
        yield lambda _table, _step: None
        return
    from rich.console import Console  # noqa: PLC0415  light start

    status = Console(stderr=True, highlight=False).status("starting")
    steps: dict[str, str] = {}

    def note(table: str, step: str) -> None:
        steps.pop("", None)  # what concerned no table is over
        steps[table] = step
        if step in ("committed", "idle", "failed", "temporary"):
            steps.pop(table)
        status.update(some([f"{name} {what}".strip() for name, what in steps.items()]) or "finishing")

    with status:
        yield note


def _plain(text: str) -> str:
    """Spell control characters out: names come from registries and brokers, and a terminal obeys them."""
    return text.translate(_SPELLED)


_SPELLED: Final = {n: f"\\x{n:02x}" for n in (*range(9), *range(11, 32), *range(127, 160))}


def _cell(value: Any) -> str:
    match value:
        case None:
            return "-"
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case _:
            return str(value)


def _squeeze(widths: Sequence[int], folding: Sequence[bool], width: int) -> list[int]:
    """Take from the folding columns, the last one first, until all fit or nothing can be taken."""
    squeezed = list(widths)
    excess = sum(widths) + GAP * (len(widths) - 1) - width
    for i in reversed([i for i, folds in enumerate(folding) if folds]):
        taken = max(0, min(excess, squeezed[i] - ELASTIC_MIN))
        squeezed[i] -= taken
        excess -= taken
    return squeezed


def _lines(row: Sequence[str], widths: Sequence[int], to_right: Sequence[bool]) -> list[str]:
    folded = [textwrap.wrap(text, width) for text, width in zip(row, widths, strict=True)]
    return [
        (" " * GAP).join(
            text.rjust(width) if right else text.ljust(width)
            for text, width, right in zip(line, widths, to_right, strict=True)
        ).rstrip()
        for line in zip_longest(*folded, fillvalue="")
    ]  # fmt: skip


def width() -> int:
    """Return the columns of plain text: the terminal's, if there is one."""
    return get_terminal_size((WIDTH, 0)).columns if sys.stdout.isatty() else WIDTH


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")
