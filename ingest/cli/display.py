"""The tables at work on a terminal: one line each, with messages read, time, and time left."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ingest.cli import drawing
from ingest.cli.heartbeat import Measure, Steps, Work, heartbeat, ticking, unmeasured
from ingest.cli.output import speaks_unicode
from ingest.errors import printable

if TYPE_CHECKING:
    from ingest.run.work.context import Progress

_ENDED: Final = ("committed", "idle", "failed", "temporary")
MAX_LINES: Final = 8
MEASURE_S: Final = 1.0


@contextmanager
def show_progress(heartbeat_s: float = 0.0, measure: Measure = unmeasured) -> Iterator["Progress"]:
    """Show the tables at work on a terminal, or log them every `heartbeat_s` without one."""
    steps = Steps()
    steps.begin("", "starting")

    def note(table: str, step: str) -> None:
        steps.begin(table, step)
        if step in _ENDED:
            steps.end(table)

    with _display(steps, measure) if sys.stderr.isatty() else heartbeat(steps, heartbeat_s, measure):
        yield note


@contextmanager
def _display(steps: Steps, measure: Measure) -> Iterator[None]:
    """Show the tables at work until the context ends. rich moves lines written meanwhile above these."""
    console = drawing.console.Console(stderr=True, highlight=False)
    spinner = drawing.spinner.Spinner("dots" if speaks_unicode(sys.stderr) else "line")

    def render() -> "drawing.table.Table":
        grid = drawing.table.Table.grid(padding=(0, 1, 0, 0))
        grid.add_column(width=1)
        grid.add_column(no_wrap=True, overflow="ellipsis")
        for number, line in enumerate(lines_of(steps.work())):
            grid.add_row("" if number else spinner, drawing.text.Text(line))
        return grid

    live = drawing.live.Live(get_renderable=render, console=console, transient=True, refresh_per_second=8)
    with live, ticking(lambda: steps.measure(measure), MEASURE_S):
        yield


def lines_of(tables: list[Work]) -> list[str]:
    """Return a line per table, aligned, the first few of many."""
    if not tables:
        return ["finishing"]
    width = max(len(work.table) for work in tables)
    lines = [f"{work.table:<{width}}  {_text(work)}" if width else _text(work) for work in tables]
    rest = len(lines) - MAX_LINES
    lines = lines if rest <= 1 else [*lines[:MAX_LINES], f"and {rest} more tables"]
    return [printable(line) for line in lines]


def _text(work: Work) -> str:
    left_s = work.seconds_left()
    left = "" if left_s is None else f", about {_clock(left_s)} left"
    return f"{work.text()}  {_clock(work.seconds)}{left}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
