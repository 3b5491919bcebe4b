"""Changes of a lake's files, seen from outside: the moments of a run, without help from the product."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import attrs

_INSTANT = re.compile(r"^\d{17}(_\d{17})?\.")

_UUID = re.compile(r"\.[0-9a-f]{8}-[0-9a-f-]{27}$")
"""Hudi writes some files under another name first."""


def stage_of(path: str) -> str:
    """Name the moment at which a file appears or goes, from its path in the lake."""
    parts = path.split("/")
    table = f"{parts[1]}'s rejects" if parts[0] == "_rejects" else parts[0]
    name, folders = parts[-1], parts[:-1]
    if name.endswith(".crc"):
        return ""
    if ".temp" in folders:
        return f"{table}: marker"
    if "history" in folders:
        return f"{table}: archive"
    if folders[-1] in (".hoodie", "timeline") and _INSTANT.match(name):
        action = _UUID.sub("", _INSTANT.sub("", name))
        return f"{table}: {'commit.inflight' if action == 'inflight' else action}"
    if ".hoodie" in folders:
        return f"{table}: {'properties' if name.startswith('hoodie.properties') else 'other metadata'}"
    return f"{table}: {'log file' if '.log.' in name else 'data file'}"


@attrs.define
class Watch:
    """Reports the changes of a lake since the last call."""

    lake: Path
    seen: frozenset[str] = frozenset()

    def look(self) -> list[str]:
        """Return the moments that came, `… gone` for a file that went, in no order."""
        now = frozenset(_files(self.lake))
        came, deleted = now - self.seen, self.seen - now
        self.seen = now
        moments = [*map(stage_of, came), *(f"{stage} gone" for stage in map(stage_of, deleted) if stage)]
        return sorted({moment for moment in moments if moment})


def _files(lake: Path) -> Iterator[str]:
    root = len(str(lake)) + 1
    for folder, _, names in os.walk(lake):  # what goes away meanwhile is passed over
        for name in names:
            yield f"{folder}/{name}"[root:]
