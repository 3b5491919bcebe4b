"""Find the line of a key in a TOML text, which tomllib does not report."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

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
