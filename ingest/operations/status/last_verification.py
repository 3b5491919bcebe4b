"""The last comparison of a table with its source, in the state folder: numbers, never a key or a value."""

import json
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import attrs

from ingest.errors import UsageError
from ingest.moments import to_iso
from ingest.report.outcome import write_whole


@attrs.frozen(kw_only=True)
class LastVerification:
    """The numbers of a comparison that came to its end."""

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

    @property
    def equal_rows(self) -> int:
        """Rows of the source that the table holds once and alike."""
        unequal = sum(count for kind, count in self.counts.items() if kind != "extra")
        return max(0, self.source_rows - unequal)


def write_last(folder: Path, table: str, verification: LastVerification) -> None:
    """Store the last verification of a table.  Raises OSError."""
    content = attrs.asdict(verification) | {"finished_at": to_iso(verification.finished_at)}
    write_whole(_file(folder, table), json.dumps(content, ensure_ascii=False) + "\n")


def read_last(folder: Path, table: str) -> LastVerification | None:
    """Return the last verification of a table, or None.  Raises `UsageError` for a damaged file."""
    path = _file(folder, table)
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        finished_at = datetime.fromisoformat(content.pop("finished_at"))
        return LastVerification(**content | {"finished_at": finished_at, "scope": tuple(content["scope"])})
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, OSError) as error:
        problem = f"{path} cannot be read: {type(error).__name__}"
        raise UsageError(problem, f"Run `ingest verify {table}` again") from error


def _file(folder: Path, table: str) -> Path:
    return folder / "verify" / f"{table}.json"
