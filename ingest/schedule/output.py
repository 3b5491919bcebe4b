"""The lines that `ingest` prints on standard error: their level and their text."""

import json
import logging
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

_OWN: Final = re.compile(r"ingest: (?:(note|warning): )?(.*)")
"""A line for people.  Without a word for its level it is an error."""
_LEVELS: Final[Mapping[str | None, int]] = MappingProxyType(
    {
        None: logging.ERROR,
        "note": logging.INFO,
        **{name.lower(): level for name, level in logging.getLevelNamesMapping().items()},
    }
)
_SHOWN: Final = ("event", "level", "timestamp", "logger", "exception")
"""Keys of a log line that Airflow's line shows, or that appear elsewhere in it."""


def log_record(line: str) -> tuple[int, str]:
    """Return the level and the text of an output line. ingest's own lines carry a level."""
    if match := _OWN.fullmatch(line):
        return _LEVELS[match[1]], line
    values = _values(line)
    if "event" not in values:
        return logging.INFO, line
    parts = [f"{key}={_text(value)}" for key, value in values.items() if key not in _SHOWN]
    text = ": ".join(filter(None, (str(values["event"]), ", ".join(parts))))
    exception = values.get("exception")
    return _LEVELS.get(str(values.get("level")), logging.INFO), f"{text}\n{exception}" if exception else text


def error_in(line: str) -> str | None:
    """Return the error that a line reports, or None for another line."""
    match = _OWN.fullmatch(line)
    return match[2] if match and match[1] is None else None


def _values(line: str) -> dict[str, Any]:
    """Return the values of a line of the log, which is JSON away from a terminal."""
    if not line.startswith("{"):
        return {}
    try:
        values = json.loads(line)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
