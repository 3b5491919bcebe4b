"""Text from elsewhere without characters that a terminal or a page would obey."""

import re
from typing import Final

_CONTROLS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff\ufffe\uffff]"
)
"""Control characters without tab and newline, marks that reverse or hide text, halves of characters."""


def printable(text: str) -> str:
    """Escape the characters that control a terminal, or that reverse or hide other text."""
    return _CONTROLS.sub(lambda character: _escape(ord(character[0])), text)


def _escape(number: int) -> str:
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"  # noqa: PLR2004  Python's own forms
