"""A settings file's text: bounded in size and depth, since parsing takes what it is given."""

import tomllib
from pathlib import Path
from typing import Any, Final

from ingest.errors import SettingsError

MAX_BYTES: Final = 256 * 1024
MAX_DOTS: Final = 500
"""In a line: the parser takes quadratic time over the dots of a key."""


def read_document(file: Path) -> dict[str, Any]:
    """Parse a settings file; raises `SettingsError` for what is no TOML, or too much of it."""
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
        text = content.decode().replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(file), "not readable", str(error)) from None
    if len(content) > MAX_BYTES:
        raise SettingsError(str(file), "not readable", f"is larger than {MAX_BYTES:,} bytes, the limit")
    if any(line.count(".") > MAX_DOTS for line in text.split("\n")):
        raise SettingsError(str(file), "not readable", f"has a line with more than {MAX_DOTS} dots")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(file), "not TOML", str(error)) from None
    except RecursionError:
        raise SettingsError(str(file), "not readable", "is nested too deep") from None
