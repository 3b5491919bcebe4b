"""The finished chunks of a comparison in a file, so that an interrupted one can be resumed.

The file keeps the sums of the source's chunks, not a verdict.  A resumed comparison sums the lake again, and
reads the rows of chunks that differ on both sides.  It keeps the position of the first attempt, because a
chunk that was summed then says nothing of later changes.
"""

import hashlib
import json
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.log import logger
from ingest.names import Partition
from ingest.report.outcome import write_whole
from ingest.verify.chunks import Ranges

MAX_AGE_S: Final = 24 * 3600
"""The age at which the chunks of an interrupted comparison are too old to be used."""
Sums = dict[int, tuple[int, int]]
Offsets = Mapping[Partition, int]


@attrs.frozen
class Saved:
    """The finished chunks of an interrupted comparison."""

    key: str
    """Identifies the table, the source and the queries."""
    started_s: float
    position: str | None
    offsets: Mapping[str, int]
    """The table's next offsets when the comparison began."""
    bounds: tuple[int, ...]
    sums: Sums = attrs.Factory(dict)

    def __str__(self) -> str:
        """Return the number of chunks, and their age."""
        at = datetime.fromtimestamp(self.started_s, UTC)
        return f"{len(self.sums)} of {len(self.bounds) + 1} chunks are of {at:%Y-%m-%d %H:%M} UTC"

    def problem(self, key: str, offsets: Offsets) -> str:
        """Return the reason why these chunks cannot be used, or an empty text if they can."""
        if self.key != key:
            return "another source, mode, condition, or other columns were compared"
        if time.time() - self.started_s > MAX_AGE_S:
            return f"it began more than {MAX_AGE_S // 3600} hours ago"
        current = {str(partition): offset for partition, offset in offsets.items()}
        if any(current.get(partition, 0) < offset for partition, offset in self.offsets.items()):
            return "the offsets of the table were moved back since"
        return ""


@attrs.define
class Progress:
    """Saves the finished chunks of one table.

    With `resumes` it begins with the chunks of an interrupted comparison.
    """

    path: Path
    key: str
    resumes: bool
    saved: Saved | None = None
    note: str = ""
    _lock: threading.Lock = attrs.Factory(threading.Lock)

    def begin(self, position: str | None, offsets: Offsets) -> str | None:
        """Begin a comparison at a position, and return it.

        A resumed comparison returns the position of the first attempt.
        """
        old, self.note = (self._read(), "") if self.resumes else (None, "")
        problem = "an interrupted comparison was not found" if old is None else old.problem(self.key, offsets)
        if old is not None and self.resumes and not problem:
            self.saved = old
            self.note = f"resumed: {old}"
            return old.position
        self.note = f"not resumed: {problem}" if self.resumes else ""
        self.resumes = False
        offsets_by_text = {str(partition): offset for partition, offset in offsets.items()}
        self.saved = Saved(self.key, time.time(), position, offsets_by_text, ())
        return position

    def ranges(self) -> Ranges | None:
        """Return the ranges of the first attempt, or None if the comparison is not resumed."""
        return Ranges(self.saved.bounds) if self.resumes and self.saved else None

    def sums(self, ranges: Ranges) -> Sums:
        """Return the sums of the finished chunks, and begin to save further ones."""
        if self.saved is None:
            return {}
        saved = self.saved = attrs.evolve(self.saved, bounds=ranges.bounds)
        self._save(lambda: write_whole(self.path, json.dumps(attrs.asdict(saved)) + "\n"))
        return dict(saved.sums)

    def add(self, chunk: int, sums: tuple[int, int]) -> None:
        """Save a finished chunk as one line."""
        with self._lock:
            if self.saved is not None:
                self._save(lambda: self._append([chunk, *sums]))

    def end(self) -> None:
        """Forget the chunks of a finished comparison."""
        self.saved, self.resumes = None, False
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def _append(self, line: Sequence[int]) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _save(self, write: Callable[[], object]) -> None:
        """Write to the file. If its folder cannot be written, only the resumption is lost."""
        try:
            write()
        except OSError as error:
            self.saved = None
            logger(__name__).warning("verify.not-saved", problem=str(error))

    def _read(self) -> Saved | None:
        """Read the chunks. The last line may be cut off."""
        try:
            head, *lines = self.path.read_text(encoding="utf-8").splitlines()
            content: dict[str, Any] = json.loads(head)
            sums = {int(chunk): (int(rows), int(total)) for chunk, (rows, total) in content["sums"].items()}
            saved = Saved(**content | {"sums": sums, "bounds": tuple(map(int, content["bounds"]))})
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        with suppress(ValueError, TypeError):
            for chunk, rows, total in map(json.loads, lines):
                saved.sums[chunk] = (rows, total)
        return saved


def key_of(*parts: str) -> str:
    """Return the digest of the texts that identify a comparison."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
