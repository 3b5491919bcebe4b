"""The last comparison of a table with its source, in the state folder: numbers, never a key or a value."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import attrs

from ingest.errors import UsageError
from ingest.json_values import JsonValue
from ingest.moments import write_duration
from ingest.report.outcome import write_whole

_TIMES: Final = ("finished_at", "failed_at")


@attrs.frozen(kw_only=True)
class LastVerification(JsonValue):
    """The numbers of a comparison: without any, its outcome is that of an error."""

    finished_at: datetime
    outcome: str
    mode: str
    source: str
    position: str | None = None
    scope: tuple[str, ...] = ()
    """The limits of the comparison, such as a condition or a sample, empty for a whole table."""
    source_rows: int = 0
    table_rows: int = 0
    counts: Mapping[str, int] = attrs.Factory(dict)
    """Rows that differ, by kind, with `in_flight` for those that changed at every look."""
    columns: Mapping[str, int] = attrs.Factory(dict)
    """Different values by column."""
    compared: int = 0
    """Columns compared."""
    uncompared: Mapping[str, str] = attrs.Factory(dict)
    """The reason for each column that was not compared."""
    seconds: float = 0.0
    note: str = ""
    failed_at: datetime | None = None
    """The time of a later comparison that did not come to its end, and its `error`."""
    error: str = ""

    @property
    def equal_rows(self) -> int:
        """Rows of the source that the table holds once and alike."""
        unequal = sum(count for kind, count in self.counts.items() if kind != "extra")
        return max(0, self.source_rows - unequal)

    @property
    def is_proof(self) -> bool:
        """Whether all rows were compared, by their values, and are equal."""
        return self.outcome == "equal" and not self.scope and self.mode != "counts"

    def summary(self) -> str:
        """Describe the outcome in a line: how many rows differ, from what, and when that was seen."""
        age = write_duration((datetime.now(UTC) - self.finished_at).total_seconds())
        if self.outcome != "different":
            return f"{self.outcome} {age} ago"
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in self.counts.items() if n and kind != "in_flight")
        rows = kinds or f"{self.table_rows:,} rows in place of {self.source_rows:,}"
        return f"differs from {self.source}: {rows} ({age} ago)"

    def is_cleared_by(self, newer: "LastVerification") -> bool:
        """Whether a newer comparison replaces this one.

        A proven difference stays until a comparison of the same rows, or of all, proves equality.
        """
        if self.outcome != "different" or newer.outcome == "different":
            return True
        covers = newer.scope in ((), self.scope) and (newer.mode != "counts" or self.mode == "counts")
        return newer.outcome == "equal" and covers


def write_last(folder: Path, table: str, verification: LastVerification) -> None:
    """Store the last verification of a table.  Raises OSError."""
    content = json.dumps(verification.to_json(), ensure_ascii=False)
    write_whole(_file(folder, table), content + "\n")


def read_last(folder: Path, table: str) -> LastVerification | None:
    """Return the last verification of a table, or None.  Raises `UsageError` for a damaged file."""
    path = _file(folder, table)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        times = {name: datetime.fromisoformat(content[name]) for name in _TIMES if content.get(name)}
        return LastVerification(**content | times | {"scope": tuple(content["scope"])})
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError, OSError) as error:
        problem = f"{path} cannot be read: {type(error).__name__}"
        raise UsageError(problem, f"Run `ingest verify {table}` again") from error


def _file(folder: Path, table: str) -> Path:
    return folder / "verify" / f"{table}.json"
