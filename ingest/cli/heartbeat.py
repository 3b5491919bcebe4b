"""Log lines about the tables at work, for a command whose standard error is not a terminal."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from ingest.lazy import LazyModule

if TYPE_CHECKING:
    from ingest import log
else:  # `--help` needs no structlog
    log = LazyModule("ingest.log")

HINT: Final = "A table commits once per run: limit the commit with --max-offsets, or give Spark more memory"
HINT_AFTER_S: Final = 300.0


class Steps:
    """The step of each table at work, with the time of its start."""

    def __init__(self) -> None:
        self._steps: dict[str, tuple[str, float]] = {}
        self._guard = threading.Lock()

    def begin(self, table: str, step: str) -> None:
        """Note a table's step; the step of no table ends when the next one begins."""
        with self._guard:
            self._steps.pop("", None)
            self._steps[table] = (step, time.monotonic())

    def end(self, table: str) -> None:
        """Note that a table is done."""
        with self._guard:
            self._steps.pop(table, None)

    def names(self) -> list[str]:
        """Return each table with its step."""
        with self._guard:
            return [f"{table} {step}".strip() for table, (step, _) in self._steps.items()]

    def seconds(self) -> Mapping[str, float]:
        """Return the seconds that each table has been in its step."""
        now = time.monotonic()
        with self._guard:
            return {f"{table} {step}".strip(): now - start for table, (step, start) in self._steps.items()}


@contextmanager
def heartbeat(steps: Steps, interval_s: float) -> Iterator[None]:
    """Log the tables at work every `interval_s` seconds; 0: never."""
    if not interval_s:
        yield
        return
    ended = threading.Event()

    def beat() -> None:
        while not ended.wait(interval_s):
            _log(steps.seconds())

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _log(seconds: Mapping[str, float]) -> None:
    if not seconds:
        return
    at_work = [f"{step}, for {round(elapsed):,} s" for step, elapsed in seconds.items()]
    hint = {"hint": HINT} if max(seconds.values()) >= HINT_AFTER_S else {}
    log.logger(__name__).warning("at work", tables=at_work, **hint)
