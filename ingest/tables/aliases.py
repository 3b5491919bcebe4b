"""Keys of older table files, under their present names."""

import logging
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from ingest.config.convert import dotted
from ingest.config.rules import WrongValueError

ALIASES: Final[Mapping[tuple[str, str], str]] = MappingProxyType(
    {
        ("types", "beyond"): "out_of_range",
        ("columns.*", "beyond"): "out_of_range",
    }
)
"""The present name of each renamed key, by its section and its old name."""


def rename_old_keys(document: dict[str, Any], path: str, *, warns: bool = True) -> None:
    """Rename old keys in place, each with a warning.  Raises WrongValueError if both names are given."""
    level = logging.WARNING if warns else logging.DEBUG
    for (section, old), new in ALIASES.items():
        for steps, values in _sections(document, section):
            if old not in values:
                continue
            key = dotted(*steps, old)
            if new in values:
                raise WrongValueError(key, f"is the old name of '{new}', which is given too", "Remove it")
            text = "%s: %s is now named '%s'; the old name will be refused in a later version"
            logging.getLogger(__name__).log(level, text, path, key, new)
            values[new] = values.pop(old)


def _sections(document: dict[str, Any], section: str) -> Iterator[tuple[tuple[str, ...], dict[str, Any]]]:
    """Yield the sections that a pattern such as `columns.*` names, each with the steps to it."""
    name, _, rest = section.partition(".")
    values = document.get(name)
    if not isinstance(values, dict):  # absent, or a mistake that the converter names
        return
    if not rest:
        yield (name,), values
        return
    yield from (((name, key), inner) for key, inner in values.items() if isinstance(inner, dict))
