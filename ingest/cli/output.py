"""How results reach a person or a program: tables, paragraphs, JSON, progress."""

import json
import os
import select
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO, TextIOWrapper
from itertools import product
from typing import Any, Final

from ingest.cli import drawing
from ingest.errors import IngestError, StoppedError, printable
from ingest.report.result import TableResult, worst
from ingest.stop import INTERRUPTED

WIDTH: Final = 100
"""Columns of plain text when stdout is not a terminal."""
GAP: Final = 2
"""Spaces between columns."""
ELASTIC_MIN: Final = (18, 10)
"""The width that elastic columns keep as long as possible, and the least before rows become blocks."""

# --- streams -----------------------------------------------------------------------------------


def adapt_streams() -> None:
    """Escape the characters that the locale's encoding lacks, in place of a UnicodeEncodeError."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def claim_stdout() -> None:
    """Keep standard output for ourselves: the JVM that starts later inherits /dev/null.

    Hudi's memory estimator prints warnings there at any log level, and would mix them into JSON.
    """
    sys.stdout.flush()
    encoding = sys.stdout.encoding
    ours = os.dup(1)
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, 1)
    os.close(devnull)
    sys.stdout = os.fdopen(ours, "w", encoding=encoding, errors="backslashreplace")


def is_reader_gone() -> bool:
    """Return whether the reader of stdout has closed the pipe, as `head` does. The rest is dropped."""
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):  # a stream in memory
        return False
    poll = select.poll()
    poll.register(descriptor, 0)
    if not any(events & select.POLLERR for _, events in poll.poll(0)):
        return False
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, descriptor)
    os.close(devnull)
    return True


def width() -> int:
    """Return the columns of plain text: the terminal's, if stdout is one."""
    if not sys.stdout.isatty():
        return WIDTH
    return os.get_terminal_size(sys.stdout.fileno()).columns or WIDTH  # not of descriptor 1: `claim_stdout`


def speaks_unicode(stream: Any) -> bool:
    """Whether a stream takes any character."""
    return str(stream.encoding or "").lower().startswith("utf")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def announce_stop(signal_name: str, grace_s: float) -> None:
    """Announce, from inside a signal handler, the effects of this signal and of a second one.

    On a terminal the line goes through rich, which moves it above its own lines.  A thread may take rich's
    locks twice.  Elsewhere the text goes past Python's buffer, which a handler must not enter while the
    thread is in it.
    """
    again = "Ctrl-C again" if signal_name == "SIGINT" else "a second signal"
    text = (
        f"{signal_name}: tables in their commit finish it, within {grace_s:g} s; all others stop at their "
        f"last commit; {again} ends at once"
    )
    if sys.stderr.isatty():
        print_error(f"note: {text}")
    else:
        os.write(2, f"ingest: note: {text}\n".encode())


# --- JSON, paragraphs, errors ------------------------------------------------------------------


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print a value as one JSON document, escaped if stdout cannot carry Unicode."""
    _print(json.dumps(value, indent=indent, ensure_ascii=not speaks_unicode(sys.stdout)))


def print_text(text: str = "", *, indent: int = 0, hanging: int = 0) -> None:
    """Print a paragraph, folded at spaces. `hanging` indents its further lines by that much more."""
    folded = textwrap.wrap(
        printable(text), width(), initial_indent=" " * indent, subsequent_indent=" " * (indent + hanging),
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip
    _print("\n".join(folded))


def print_page(text: str) -> None:
    """Print a page as it is."""
    _print(text)


def print_error(text: str) -> None:
    """Print one line on standard error, even if a quoted cause has several."""
    sys.stderr.write(f"ingest: {printable(' '.join(text.split()))}\n")


def print_problems(error: IngestError) -> None:
    """Print each problem of an error on a line of standard error."""
    for problem in error.problems():
        print_error(str(problem))


def show_errors(results: Sequence[TableResult]) -> int:
    """Print the errors of tables, if any, and return the exit code of the command."""
    for result in results:
        if result.error is not None:
            print_problems(result.error)
    return exit_code_of(results)


def exit_code_of(results: Sequence[TableResult]) -> int:
    """Return a command's exit code for its tables: the shell's for Ctrl-C, or the worst table's."""
    errors = [result.error for result in results]
    if any(isinstance(error, StoppedError) and error.signal == "SIGINT" for error in errors):
        return INTERRUPTED
    return worst(results)


# --- tables ------------------------------------------------------------------------------------


def print_table(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    right: Sequence[str] = (),
    elastic: Sequence[str] = (),
) -> None:
    """Print rows in columns. The columns in `right` align to the right, as numbers do.

    The columns in `elastic` fold to fit the width, the last one first.  If that does not suffice, each row
    becomes a block of lines, one line per column.  A column without content is left out.  None shows as `-`,
    an empty text as nothing.
    """
    for line in lay_out(headings, rows, width(), right=right, elastic=elastic):
        _print(line)


def lay_out(
    headings: Sequence[str],
    rows: Sequence[Sequence[Any]],
    limit: int,
    *,
    right: Sequence[str] = (),
    elastic: Sequence[str] = (),
    show_header: bool = True,
) -> list[str]:
    """Return the lines of `print_table` for a width. No line is longer than `limit`."""
    cells = [[printable(_cell(value)) for value in row] for row in rows]
    used = [i for i in range(len(headings)) if any(row[i] not in ("", "-") for row in cells)]
    names = [headings[i] for i in used]
    cells = [[row[i] for i in used] for row in cells]
    widths = _column_widths(names, cells, limit, elastic)
    if sum(widths) + GAP * (len(widths) - 1) > limit:
        return _render(_blocks(names, cells), limit)
    grid = drawing.table.Table(
        box=_box(), show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_header=show_header
    )
    for name, column_width in zip(names, widths, strict=True):
        grid.add_column(
            drawing.text.Text(name),
            width=column_width,
            justify="right" if name in right else "left",
            overflow="fold",
        )
    for row in cells:
        grid.add_row(*map(drawing.text.Text, row))
    return _render(grid, limit)


def _column_widths(
    names: Sequence[str], cells: Sequence[Sequence[str]], limit: int, elastic: Sequence[str]
) -> list[int]:
    """Shrink the elastic columns, the last one first, until all fit or each is at its minimum."""
    columns = zip(names, *cells, strict=True)
    widths = [max(drawing.text.Text(cell).cell_len for cell in column) for column in columns]
    excess = sum(widths) + GAP * (len(widths) - 1) - limit
    columns_to_shrink = [i for i, name in enumerate(names) if name in elastic]
    for minimum, i in product(ELASTIC_MIN, reversed(columns_to_shrink)):
        shrinkage = max(0, min(excess, widths[i] - minimum))
        widths[i] -= shrinkage
        excess -= shrinkage
    return widths


def _blocks(names: Sequence[str], cells: Sequence[Sequence[str]]) -> "drawing.table.Table":
    """Lay each row out as lines of heading and cell, with an empty line between rows."""
    grid = drawing.table.Table.grid(padding=(0, GAP, 0, 0))
    grid.add_column(overflow="fold")
    grid.add_column(overflow="fold")
    for number, row in enumerate(cells):
        if number:
            grid.add_row()
        for name, cell in zip(names, row, strict=True):
            if cell:
                grid.add_row(drawing.text.Text(name), drawing.text.Text(cell))
    return grid


def _box() -> "drawing.box.Box":
    """Return a box that draws one rule, below the headings."""
    rule = "────" if speaks_unicode(sys.stdout) else "----"
    return drawing.box.Box("\n".join(("    ", "    ", rule, *("    ",) * 5)))


def _render(grid: "drawing.table.Table", limit: int) -> list[str]:
    console = drawing.console.Console(
        file=StringIO(), width=limit, color_system=None, legacy_windows=False, safe_box=False, emoji=False
    )
    with console.capture() as capture:
        console.print(grid)
    return [line.rstrip() for line in capture.get().splitlines()]


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


# --- progress ----------------------------------------------------------------------------------


@contextmanager
def spin(text: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner with a text, only on a terminal. Yields the function that changes the text.

    rich moves lines that are written to `sys.stderr` meanwhile above the spinner.
    """
    if not sys.stderr.isatty():
        yield lambda _: None
        return
    console = drawing.console.Console(stderr=True, highlight=False)
    with console.status(_markup(text), spinner="dots" if speaks_unicode(sys.stderr) else "line") as status:
        yield lambda changed: status.update(_markup(changed))


def _markup(text: str) -> "drawing.text.Text":
    return drawing.text.Text(printable(text))
