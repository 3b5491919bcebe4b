"""The names that Avro accepts, and the check that a name means one field."""

from collections.abc import Sequence
from unicodedata import category

_LETTERS = frozenset(("Lu", "Ll", "Lt", "Lm", "Lo"))


def is_name(name: str) -> bool:
    """Tell whether Java's Avro library accepts a name (org.apache.avro.Schema.validateName).

    It accepts letters of all scripts, digits and `_`.  A digit cannot come first, and characters have 16
    bits.
    """
    return bool(name) and not _is_digit(name[0]) and all(_is_letter(c) or _is_digit(c) for c in name)


def _is_letter(character: str) -> bool:
    return character == "_" or (character <= "\uffff" and category(character) in _LETTERS)


def _is_digit(character: str) -> bool:
    return character <= "\uffff" and category(character) == "Nd"


def find_ambiguous(names: Sequence[str]) -> str:
    """Return the problem of field names that are empty, repeated or not valid text.

    Empty without a problem.
    """
    seen: set[str] = set()
    for name in names:
        if not name:
            return "has a field with an empty name"
        if any("\ud800" <= character <= "\udfff" for character in name):
            return f"has a field with half a surrogate pair in its name: {name[:80]!r}"
        if name in seen:
            return f"has two fields called {name[:80]!r}"
        seen.add(name)
    return ""
