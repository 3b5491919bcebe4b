"""The seconds of a run by step, on the wall clock.

Spark is lazy, but each step ends with a result: `read` with the rows of the newest change of each key in a
shuffle, and their counts, and `write` with the commit.  Within `read`, fetching and decoding a message are
one pipeline of generated code, which Spark does not time in parts.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import attrs

from ingest.report.contract import Step, StepSeconds


@attrs.frozen
class Span:
    """The time from a step's begin to its end, in monotonic seconds.  `table` is empty for all tables."""

    table: str
    step: Step
    begin_s: float
    end_s: float


@attrs.define(eq=False)
class StepTimes:
    """The spans of a run, noted by the threads of its tables.  A table is in one step at a time."""

    _spans: list[Span] = attrs.field(factory=list, init=False)
    _open: dict[str, tuple[Step, float]] = attrs.field(factory=dict, init=False)
    _details: dict[str, str] = attrs.field(factory=dict, init=False)

    def enter(self, table: str, detail: str, kind: Step | None = None) -> None:
        """Note what a table does next, and begin a step if it is of another kind."""
        self._details[table] = detail
        if kind is not None:
            self.begin(table, kind)

    def detail(self, table: str) -> str:
        """Return what a table did last.  Empty before the first step."""
        return self._details.get(table, "")

    def begin(self, table: str, step: Step) -> None:
        """Begin a step of a table, which ends the one before."""
        self.end(table)
        self._open[table] = step, time.monotonic()

    def end(self, table: str) -> None:
        """End a table's step, if it is in one."""
        opened = self._open.pop(table, None)
        if opened:
            self.add(table, *opened)

    def add(self, table: str, step: Step, begin_s: float) -> None:
        """Note a step that ends now."""
        self._spans.append(Span(table, step, begin_s, time.monotonic()))

    @contextmanager
    def during(self, table: str, step: Step) -> Iterator[None]:
        """Note a step.  The steps begun inside take its place."""
        self.begin(table, step)
        try:
            yield
        finally:
            self.end(table)

    def of_table(self, table: str) -> StepSeconds:
        """Return a table's seconds.  Their sum is the time that the table took."""
        return shares(span for span in self._all() if span.table == table)

    def of_run(self) -> StepSeconds:
        """Return the run's seconds.  Tables that work at the same time share them equally."""
        return shares(self._all())

    def _all(self) -> tuple[Span, ...]:
        now = time.monotonic()
        unfinished = (Span(table, step, begin_s, now) for table, (step, begin_s) in dict(self._open).items())
        return (*self._spans, *unfinished)


def shares(spans: Iterable[Span]) -> StepSeconds:
    """Add up the time of each step.  Spans that overlap share it equally."""
    lasting = [span for span in spans if span.end_s > span.begin_s]
    events = sorted(
        event for span in lasting for event in ((span.begin_s, 1, span.step), (span.end_s, -1, span.step))
    )
    seconds, active, before_s = dict[str, float](), Counter[str](), 0.0
    for at_s, change, step in events:
        for name, count in active.items():
            if count:
                seconds[name] = seconds.get(name, 0.0) + (at_s - before_s) * count / active.total()
        active[step] += change
        before_s = at_s
    return StepSeconds(**{name: round(total, 3) for name, total in seconds.items()})
