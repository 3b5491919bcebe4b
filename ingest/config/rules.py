"""The rules of a value beyond its type, and the one shape of every complaint about a value."""

import difflib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Final

import attrs

MAX_SHOWN: Final = 40
"""Characters of a wrong value that a message repeats."""
SHORTEST_PART: Final = 4
"""Characters of a wrong name that are looked for within longer ones."""
_TYPES: Final[Mapping[type, str]] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    list: "a list",
    dict: "a section",
    PurePath: "a path",
}


class WrongValueError(ValueError):
    """A value that breaks a rule.  `key` is its dotted path below the value under construction.

    `further` are the other problems of the same document.
    """

    further: "tuple[WrongValueError, ...]" = ()

    def __init__(self, key: str, problem: str, todo: str = "") -> None:
        super().__init__(f"{key}: {problem}" if key else problem)
        self.key, self.problem, self.todo = key, problem, todo

    def problems(self) -> "tuple[WrongValueError, ...]":
        """Return this problem and the further ones."""
        return (self, *self.further)


Rule = Callable[[Any, "attrs.Attribute[Any]", Any], None]


def wrong_value(
    value: object, allowed: str, todo: str = "", *, key: str = "", hidden: bool = False
) -> WrongValueError:
    """Make the complaint about a value.  It names a `hidden` value, a secret, only by its type."""
    text = type_name(value) if hidden else shown(value)
    return WrongValueError(key, f"found {text}; allowed: {allowed}", todo)


def unknown_key(key: str, name: str, allowed: Sequence[str]) -> WrongValueError:
    """Make the complaint about a key that does not exist, with the nearest one that does."""
    return WrongValueError(key, f"unknown key; allowed: {', '.join(allowed)}", suggest(name, allowed))


def suggest(name: str, known_names: Iterable[str]) -> str:
    """Suggest the known name that is nearest to a misspelled or shortened one.  Empty if no name is near."""
    names = list(known_names)
    near = difflib.get_close_matches(name, names, n=1) or _longer(name, names)
    return f"Did you mean '{near[0]}'?" if near else ""


def _longer(name: str, names: Iterable[str]) -> list[str]:
    """Return the names that contain a shorter one, the shortest first."""
    if len(name) < SHORTEST_PART:
        return []
    return sorted((longer for longer in names if name.lower() in longer.lower()), key=len)


def shown(value: object) -> str:
    """Show a value with its type, shortened."""
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return f"{short} ({type_name(value)})"


def type_name(value: object) -> str:
    """Name the TOML type of a value."""
    return _TYPES.get(type(value), "a date or time")


def quoted(words: Iterable[str]) -> str:
    """List words in quotes."""
    return ", ".join(f"'{word}'" for word in words)


def key_of(field: "attrs.Attribute[Any]") -> str:
    """Return the TOML key of a field: its name, unless its metadata names another."""
    return str(field.metadata.get("key", field.name))


def file_fields(kind: type[attrs.AttrsInstance]) -> "dict[str, attrs.Attribute[Any]]":
    """Return the fields of a class that files may have, by their TOML keys."""
    fields = attrs.fields(attrs.resolve_types(kind))
    return {key_of(field): field for field in fields if field.metadata.get("in_file", True)}


def is_expert(field: "attrs.Attribute[Any]") -> bool:
    """Whether few deployments need a field.  The reference lists it last."""
    return bool(field.metadata.get("expert", False))


def help_of(field: "attrs.Attribute[Any]") -> str:
    """Return the help text of a field: Markdown, for the reference and for comments in table files."""
    return str(field.metadata.get("help", ""))


# --- rules, as attrs validators ----------------------------------------------------------------


@attrs.frozen
class Between:
    """A number in a range, both ends included."""

    low: float
    high: float

    def __call__(self, _: Any, attribute: "attrs.Attribute[Any]", value: float) -> None:
        """Check a value.  Raises WrongValueError."""
        if not self.low <= value <= self.high:
            raise WrongValueError(key_of(attribute), f"found {value}; allowed: {self.low} to {self.high}")


@attrs.frozen
class AtLeast:
    """A number with a minimum.  NaN is below every minimum."""

    low: float

    def __call__(self, _: Any, attribute: "attrs.Attribute[Any]", value: float) -> None:
        """Check a value.  Raises WrongValueError."""
        if not value >= self.low:
            raise WrongValueError(key_of(attribute), f"found {value}; allowed: {self.low} or more")


def not_empty(_: Any, attribute: "attrs.Attribute[Any]", value: str | None) -> None:
    """Refuse an empty or blank text.  None is not a text."""
    if value is not None and not value.strip():
        raise WrongValueError(key_of(attribute), "is empty")
