"""What a text or a number in a table file must hold beyond its type."""

import difflib
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import attrs

T = TypeVar("T")


class WrongValueError(ValueError):
    """A value that breaks a rule; `key` is its place below the value that was to be made."""

    def __init__(self, key: str, problem: str, todo: str = "") -> None:
        super().__init__(f"{key}: {problem}" if key else problem)
        self.key, self.problem, self.todo = key, problem, todo


Rule = Callable[[Any, "attrs.Attribute[T]", T], None]


N = TypeVar("N", int, float)


def between(low: N, high: N) -> Rule[N]:
    """Return the rule of a number; both ends are allowed."""

    def check(_: Any, attribute: "attrs.Attribute[N]", value: N) -> None:
        if not low <= value <= high:
            raise WrongValueError(attribute.name, f"found {value}; allowed: {low} to {high}")

    return check


def suggest(name: str, known: Iterable[str]) -> str:
    """Ask for the known name that is nearest to one; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"Did you mean '{near[0]}'?" if near else ""
