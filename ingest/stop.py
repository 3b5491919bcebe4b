"""Stops a table that takes too long, or all tables after a signal.

Reaches no pyspark: the command line listens for signals before Spark is there.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from ingest.errors import IngestError

INTERRUPTED: Final = 130
"""The exit code after Ctrl-C, as shells have it."""
SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


class Terminated(KeyboardInterrupt):
    """SIGTERM at a moment when no table has to finish first."""


class Stop:
    """Carries stops from the supervisor to the tables: a table checks it before each step and its commit."""

    def __init__(self) -> None:
        self.signal = ""
        """The signal that ends the run, empty before one comes."""
        self.on_signal: Callable[[str], None] = lambda _: None
        """Called with a first signal's name, in the signal handler: it must not take locks."""
        self._reasons: dict[str, IngestError] = {}
        self._committing: set[str] = set()
        self._guard = threading.Lock()

    def give_up(self, table: str, error: IngestError, *, even_committing: bool) -> bool:
        """Forbid a table its commit.  Return False if it is in its commit, unless `even_committing`."""
        with self._guard:
            if table in self._committing and not even_committing:
                return False
            self._reasons.setdefault(table, error)
            return True

    def reason(self, table: str) -> IngestError | None:
        """Return the reason why a table has to stop, or None if it may continue."""
        return self._reasons.get(table)

    def check(self, table: str) -> None:
        """Raise the reason for which a table has to stop, if there is one."""
        if table in self._reasons:
            raise self._reasons[table]

    def raise_signal(self) -> None:
        """Raise the received signal again, for the handlers that were there before."""
        if self.signal:
            signal.raise_signal(signal.Signals[self.signal])

    @contextmanager
    def committing(self, table: str) -> Iterator[None]:
        """Commit, unless the table has to stop: then raise the reason."""
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

    Only the main thread receives signals.  In another thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def receive(number: int, _: FrameType | None) -> None:
        if stop.signal:
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        stop.signal = signal.Signals(number).name  # take no lock in a handler: this thread may hold it
        stop.on_signal(stop.signal)

    before = {number: signal.signal(number, receive) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler or signal.SIG_DFL)


@contextmanager
def terminable() -> Iterator[None]:
    """Raise Terminated for a SIGTERM, so that open resources are closed."""
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
