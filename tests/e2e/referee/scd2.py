"""The versions of one row, in plain Python: a referee that shares no code with the product."""

from collections.abc import Iterable
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class Change:
    """A change of a row: its order, its time in ms, and its values; None for a delete.

    `lacks` are the names of values that it did not bring.
    """

    order: tuple[Any, ...]
    time_ms: int | None
    values: dict[str, Any] | None
    lacks: frozenset[str] = frozenset()


@attrs.frozen(kw_only=True)
class Version:
    """A change with its interval, half-open; `end` is the order of the change that ended it."""

    change: Change
    values: dict[str, Any] | None
    valid_from: int
    valid_to: int | None
    end: tuple[Any, ...] | None

    @property
    def is_empty(self) -> bool:
        """Whether the change made no version."""
        return self.end == self.change.order


def versions(changes: Iterable[Change]) -> list[Version]:
    """Return every change of one row in its order, with its interval."""
    rows: list[Version] = []
    current: int | None = None
    clock, values = 0, None
    for change in sorted(changes, key=lambda candidate: candidate.order):
        clock = max(clock, change.time_ms or 0)
        before, values = values, _completed(change, values)
        is_open = values is not None and (current is None or values != before)
        if current is not None and (is_open or values is None):
            rows[current] = attrs.evolve(rows[current], valid_to=clock, end=change.order)
            current = None
        if is_open:
            current = len(rows)
        valid_to, end = (None, None) if is_open else (clock, change.order)
        rows.append(Version(change=change, values=values, valid_from=clock, valid_to=valid_to, end=end))
    return rows


def _completed(change: Change, before: dict[str, Any] | None) -> dict[str, Any] | None:
    if change.values is None:
        return None
    older = before or {}
    return {name: older.get(name) if name in change.lacks else v for name, v in change.values.items()}
