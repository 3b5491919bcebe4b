"""The tables at work, with step, messages read, tasks and time, and log lines about them."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import attrs

from ingest import log
from ingest.names import Reading

if TYPE_CHECKING:
    from ingest.spark.stages import Stage

HINT: Final = "A table commits once per run: limit the commit with --max-offsets, or give Spark more memory"
HINT_AFTER_S: Final = 300.0
FORECAST_AFTER_S: Final = 5.0
"""Seconds of reading before the first forecast, which would be a guess any earlier."""

Measure = Callable[[], "Mapping[str, Sequence[Stage]]"]
"""Returns the Spark stages at work, by table."""


def unmeasured() -> "Mapping[str, Sequence[Stage]]":
    """Return nothing: the progress of commands that do not run in Spark."""
    return {}


@attrs.define
class Work:
    """A table in a step. The times are monotonic, in seconds."""

    table: str
    step: str
    started: float
    stages: "Sequence[Stage]" = ()
    reading: int | None = None
    """The id of the step's first stage, which reads the messages if the step reads any."""
    read: int = 0
    since: tuple[float, int] | None = None
    """The time at which messages first showed as read, and their number. Planning comes before."""

    @property
    def seconds(self) -> float:
        """The time in the step."""
        return time.monotonic() - self.started

    def update(self, stages: "Sequence[Stage]") -> None:
        """Note the stages at work."""
        self.stages = stages
        if stages and self.reading is None:
            self.reading = stages[0].stage_id
        self.read = max([self.read, *(stage.records for stage in stages if stage.stage_id == self.reading)])
        if self.read and self.since is None:
            self.since = time.monotonic(), self.read

    @property
    def _is_reading(self) -> bool:
        return self.reading is None or any(stage.stage_id == self.reading for stage in self.stages)

    def text(self) -> str:
        """Return the step with its progress: messages read of all to read, or tasks of the stages at work."""
        is_reading = isinstance(self.step, Reading) and self._is_reading
        if isinstance(self.step, Reading) and is_reading and self.read:
            share = min(1.0, self.read / self.step.total)
            return f"reading {self.read:,} of {self.step.total:,} ({share:.0%})".replace("%", " %")
        tasks = sum(stage.tasks for stage in self.stages)
        done = f" ({sum(stage.done for stage in self.stages):,} of {tasks:,} tasks)" if tasks > 1 else ""
        is_ordering = isinstance(self.step, Reading) and not is_reading
        step = "ordering the messages" if is_ordering else self.step
        return f"{step}{done}"

    def seconds_left(self) -> float | None:
        """Return the remaining seconds of reading at the pace so far, or None if they are unknown."""
        if not isinstance(self.step, Reading) or not self._is_reading or self.since is None:
            return None
        seconds, read = time.monotonic() - self.since[0], self.read - self.since[1]
        if not read or seconds < FORECAST_AFTER_S:
            return None
        return max(0, self.step.total - self.read) * seconds / read


class Steps:
    """The tables at work."""

    def __init__(self) -> None:
        self._work: dict[str, Work] = {}
        self._guard = threading.Lock()

    def begin(self, table: str, step: str) -> None:
        """Note a table's step. A step without a table ends when the next one begins."""
        with self._guard:
            self._work.pop("", None)
            self._work[table] = Work(table, step, time.monotonic())

    def end(self, table: str) -> None:
        """Note that a table is done."""
        with self._guard:
            self._work.pop(table, None)

    def measure(self, measure: Measure) -> None:
        """Update the tables at work with their Spark stages."""
        stages = measure()
        with self._guard:
            for work in self._work.values():
                work.update(stages.get(work.table, ()))

    def work(self) -> list[Work]:
        """Return the tables at work."""
        with self._guard:
            return [attrs.evolve(work) for work in self._work.values()]


@contextmanager
def ticking(tick: Callable[[], None], interval_s: float) -> Iterator[None]:
    """Call a function every `interval_s` seconds in a separate thread, or never if it is 0."""
    if not interval_s:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(interval_s):
            tick()

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def heartbeat(steps: Steps, interval_s: float, measure: Measure = unmeasured) -> Iterator[None]:
    """Log the tables at work every `interval_s` seconds, or never if it is 0."""

    def tick() -> None:
        steps.measure(measure)
        _log(steps.work())

    with ticking(tick, interval_s):
        yield


def _log(tables: Sequence[Work]) -> None:
    if not tables:
        return
    hint = {"hint": HINT} if max(work.seconds for work in tables) >= HINT_AFTER_S else {}
    log.log_progress("at work", tables=[_line(work) for work in tables], **hint)


def _line(work: Work) -> str:
    left_s = work.seconds_left()
    left = "" if left_s is None else f", about {round(left_s):,} s left"
    return f"{work.table} {work.text()}, for {round(work.seconds):,} s{left}".strip()
