"""Turns of tables: one table is compared at a time, and another while it waits for its connector."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from threading import Lock, Thread
from typing import TypeVar

import attrs

T = TypeVar("T")
R = TypeVar("R")


@attrs.frozen
class Turn:
    """The right to work, which one thread has at a time."""

    lock: Lock = attrs.Factory(Lock)

    @contextmanager
    def passed_on(self) -> Generator[None]:
        """Let others work while this thread waits."""
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()

    def work_on(self, items: Sequence[T], work: Callable[[T], R]) -> tuple[R, ...]:
        """Work on each item in order, each in a new thread, and return the results.

        An item that waits passes its turn on, so that all wait at the same time.  `work` raises no error.
        """
        results: dict[int, R] = {}

        def take_turn(number: int, item: T) -> None:
            with self.lock:
                results[number] = work(item)

        threads = [
            Thread(target=take_turn, args=(number, item), name=f"verify-{number}", daemon=True)
            for number, item in enumerate(items)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return tuple(results[number] for number in range(len(items)))
