"""The plan of a takeover of rows, and its result."""

from typing import Any, Final, Literal

import attrs

from ingest.adopt.columns import FittedColumns
from ingest.adopt.start import StartOffsets
from ingest.errors import IngestError, TakeoverError
from ingest.moments import write_duration
from ingest.names import Instant
from ingest.operations.rebuild.rebuild_plan import ROWS_PER_S, rows_text
from ingest.report.outcome import by_text
from ingest.report.result import TableResult, failure_of
from ingest.run.work.context import Context
from ingest.tables import TableConfig

Outcome = Literal["adopted", "loaded", "planned", "idle", "failed", "temporary"]
_ROOM: Final = 1.1
"""Bytes of free disk for each byte of the rows."""
_MEGA: Final = 1_000_000


@attrs.frozen
class TakeoverPlan:
    """The rows to take over, their columns, and the offsets and position from which the table continues.

    `bytes` and `free_bytes` are None if the storage does not report them.
    """

    table: str
    origin: str
    rows: int
    columns: FittedColumns
    start: StartOffsets
    position: str = ""
    bytes: int | None = None
    free_bytes: int | None = None
    notes: tuple[str, ...] = ()

    @property
    def seconds(self) -> int:
        """About how long it takes."""
        return round(self.rows / ROWS_PER_S)

    def check_disk(self) -> None:
        """Raise TakeoverError for too little disk space."""
        needed = round((self.bytes or 0) * _ROOM)
        if self.free_bytes is not None and self.free_bytes < needed:
            problem = (
                f"it needs {needed / _MEGA:,.1f} MB of disk, and {self.free_bytes / _MEGA:,.1f} are free"
            )
            raise TakeoverError(self.table, problem, "Free disk space; nothing was written")

    def __str__(self) -> str:
        return f"{rows_text(self.rows)} of {self.origin}, about {write_duration(max(60, self.seconds))}"

    def to_json(self) -> dict[str, Any]:
        """Return the plan as JSON."""
        return {
            "origin": self.origin,
            "rows": self.rows,
            "columns": [
                {
                    "column": column.name,
                    "type": str(column.spark),
                    "from": column.origin or None,
                    "from_type": column.origin_type or None,
                    "fit": column.fit,
                    "mask": column.mask,
                }
                for column in self.columns.all
            ],
            "dropped": list(self.columns.dropped),
            "offsets": by_text(self.start.next),
            "offsets_from": self.start.origin,
            "position": self.position or None,
            "bytes": self.bytes,
            "free_bytes": self.free_bytes,
            "about_seconds": self.seconds,
            "notes": list(self.notes),
        }


@attrs.frozen
class Takeover(TableResult):
    """The result of a takeover, or its plan. `note` says why there was nothing to do."""

    outcome: Outcome
    plan: TakeoverPlan | None = None
    instant: Instant | None = None
    note: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON."""
        return {
            "table": self.table,
            "outcome": self.outcome,
            "plan": self.plan.to_json() if self.plan else None,
            "instant": self.instant,
            "note": self.note or None,
            "seconds": round(self.seconds, 3),
            "error": str(self.error) if self.error else None,
        }


def finished(run: Context, table: TableConfig, result: Takeover | IngestError, seconds: float) -> Takeover:
    """Return the final result of a table, of an error too."""
    run.progress(table.name, "idle")
    if isinstance(result, IngestError):
        result = Takeover(table.name, failure_of(result), error=result)
    return attrs.evolve(result, seconds=seconds)
