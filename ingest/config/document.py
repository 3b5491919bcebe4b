"""TOML files, bounded in size and depth: a parser uses as much time and stack as its input demands."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ingest.config.rules import WrongValueError, wrong_value

MAX_DOTS: Final = 500
"""Dots in a line: tomllib (Python 3.11) takes quadratic time over the dots of a key."""


def read_toml(path: Path, max_bytes: int, max_depth: int) -> dict[str, Any]:
    """Parse a file.  Raises WrongValueError for anything that is not TOML within the limits."""
    return parse_toml(read_text(path, max_bytes), max_depth)


def read_text(path: Path, max_bytes: int) -> str:
    """Read a file.  Raises WrongValueError for anything that is not text within the limit."""
    try:
        with path.open("rb") as file:
            content = file.read(max_bytes + 1)
        text = content.decode("utf-8-sig")  # some editors write a byte order mark
    except OSError as error:
        raise WrongValueError("", f"not readable: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise WrongValueError("", f"not UTF-8: invalid byte at position {error.start}") from None
    if len(content) > max_bytes:
        raise WrongValueError("", f"larger than {max_bytes} bytes, the limit")
    return text.replace("\r\n", "\n")


def parse_toml(text: str, max_depth: int) -> dict[str, Any]:
    """Parse a text.  Raises WrongValueError for anything that is not TOML within the limits."""
    if text.count(".") > MAX_DOTS:
        _check_dots(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise WrongValueError("", f"not TOML: {error}") from None
    except RecursionError:
        raise _too_deep(max_depth) from None
    _check_depth(document, max_depth)
    return document


def _check_dots(text: str) -> None:
    for number, line in enumerate(text.split("\n"), start=1):
        if line.count(".") > MAX_DOTS:
            raise WrongValueError("", f"line {number} has more than {MAX_DOTS} dots, the limit")


def flatten(options: dict[str, Any], prefix: str = "") -> dict[str, str]:
    """Join the tables that TOML makes of dotted keys: `hoodie.a.b = 1` is the option `hoodie.a.b`.

    Values become text.  Raises WrongValueError for a list, a date, or a key given twice.
    """
    flat: dict[str, str] = {}
    for name, value in options.items():
        inner = _inner(f"{prefix}{name}", value)
        if duplicates := inner.keys() & flat.keys():
            raise WrongValueError(min(duplicates), "is given twice")
        flat |= inner
    return flat


def property_text(value: object) -> str | None:
    """Write a property's value as text.

    Return None for a value that is not a text, number or truth value.
    """
    match value:
        case bool():
            return str(value).lower()
        case str() | int() | float():
            return str(value)
        case _:
            return None


def _inner(name: str, value: object) -> dict[str, str]:
    if isinstance(value, dict):
        return flatten(value, f"{name}.")
    text = property_text(value)
    if text is None:
        raise wrong_value(value, "text, a number, true or false", key=name)
    return {name: text}


def _check_depth(document: dict[str, Any], max_depth: int) -> None:
    """Walk level by level, so that no nesting exhausts the stack."""
    level: list[Any] = [document]
    for _ in range(max_depth):
        if not level:
            return
        children = (child for node in level for child in (node.values() if isinstance(node, dict) else node))
        level = [child for child in children if isinstance(child, dict | list)]
    if level:
        raise _too_deep(max_depth)


def _too_deep(max_depth: int) -> WrongValueError:
    return WrongValueError("", f"nested deeper than {max_depth} levels")


# --- lines of keys, which tomllib does not report --------------------------------------------------

_HEADER: Final = re.compile(r"\s*\[\[?(?P<key>[^\[\]]+)\]\]?\s*(#.*)?$")
_ASSIGNMENT: Final = re.compile(r"""\s*(?P<key>(?:"[^"]*"|'[^']*'|[^\s="'#\[\]{}]|[ \t]*\.[ \t]*)+)\s*=""")
_MULTILINE: Final = ('"""', "'''")


def find_line(text: str, key: str) -> int:
    """Return the line of a dotted key, or else of its section, or 0 if the text has neither."""
    lines = _key_lines(text)
    steps = key.replace('"', "")
    while steps and steps not in lines:
        steps = steps.rpartition(".")[0]
    return lines.get(steps, 0)


def _key_lines(text: str) -> Mapping[str, int]:
    """Return the first line of each section and key, by its steps joined with dots."""
    lines: dict[str, int] = {}
    section, is_inside_text = "", False
    for number, line in enumerate(text.splitlines(), start=1):
        was_inside_text = is_inside_text
        is_inside_text ^= any(line.count(quotes) % 2 for quotes in _MULTILINE)
        if was_inside_text:
            continue
        if header := _HEADER.match(line):
            section = _joined(header["key"])
            lines.setdefault(section, number)
        elif assignment := _ASSIGNMENT.match(line):
            key = ".".join(filter(None, (section, _joined(assignment["key"]))))
            lines.setdefault(key, number)
    return lines


def _joined(key: str) -> str:
    """Return the steps of a key as TOML reads them, joined with dots."""
    try:
        node: Any = tomllib.loads(f"{key} = 0")
    except tomllib.TOMLDecodeError:
        return key.strip()
    steps = []
    while isinstance(node, dict):
        ((name, node),) = node.items()
        steps.append(name)
    return ".".join(steps)
