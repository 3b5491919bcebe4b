"""Who has to stop: a table that takes too long, or all of them, by a signal.

Reaches no pyspark: the command line listens for signals before Spark is there.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from ingest.errors import IngestError

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as shells have it."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM, where nothing is at work that would have to end first."""


class Stop:
    """What the tables of a run ask before they commit, and what their supervisor tells them."""

    def __init__(self) -> None:
        self.signal = ""
        """The signal that ends the run, empty while there is none."""
        self._given_up: dict[str, IngestError] = {}
        self._committing: set[str] = set()
        self._guard = threading.Lock()

    def give_up(self, table: str, error: IngestError, *, even_committing: bool) -> bool:
        """Forbid a table its commit; tell whether that was in time, or `even_committing` is meant."""
        with self._guard:
            if table in self._committing and not even_committing:
                return False
            self._given_up.setdefault(table, error)
            return True

    def reason(self, table: str) -> IngestError | None:
        """Return why a table was given up."""
        return self._given_up.get(table)

    def check(self, table: str) -> None:
        """Raise the reason for which a table was stopped, if it was."""
        if table in self._given_up:
            raise self._given_up[table]

    def raise_signal(self) -> None:
        """Give a signal that was heard to whoever would have heard it without us."""
        if self.signal:
            signal.raise_signal(signal.Signals[self.signal])

    @contextmanager
    def committing(self, table: str) -> Iterator[None]:
        """Commit, unless the table was given up: then its reason is raised."""
        with self._guard:
            self.check(table)
            self._committing.add(table)
        try:
            yield
        finally:
            with self._guard:
                self._committing.discard(table)


@contextmanager
def listening(stop: Stop) -> Iterator[None]:
    """Let a first SIGTERM or SIGINT end the run in order, and a second one at once.

    Only the main thread hears signals; elsewhere the caller has to see to them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def hear(number: int, _: FrameType | None) -> None:
        if stop.signal:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        stop.signal = signal.Signals(number).name  # no more: a lock taken in a handler can be held already

    before = {number: signal.signal(number, hear) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated for a SIGTERM, so that what is open is closed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(_: int, __: FrameType | None) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before or signal.SIG_DFL)
