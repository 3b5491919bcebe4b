"""The plan of a takeover of rows, and its result."""

from typing import Final, Literal

import attrs

from ingest.adopt.columns import FittedColumns
from ingest.adopt.start import StartOffsets
from ingest.errors import IngestError, TakeoverError
from ingest.json_values import JsonValue
from ingest.moments import write_duration
from ingest.names import Instant
from ingest.operations.rebuild.rebuild_plan import ROWS_PER_S, rows_text
from ingest.report.result import TableResult, failure_of
from ingest.run.work.context import Context
from ingest.tables import TableConfig

Outcome = Literal["adopted", "loaded", "planned", "idle", "failed", "temporary"]
_ROOM: Final = 1.1
"""Bytes of free disk for each byte of the rows."""
_MEGA: Final = 1_000_000


@attrs.frozen
class TakeoverPlan(JsonValue):
    """The rows to take over, their columns, and the offsets and position from which the table continues.

    `bytes` and `free_bytes` are None if the storage does not report them.
    """

    json_keys = (
        "origin rows columns=columns.all columns.dropped offsets=start.next offsets_from=start.origin "
        "position|null bytes free_bytes about_seconds=seconds notes"
    )

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


@attrs.frozen
class Takeover(TableResult):
    """The result of a takeover, or its plan. `note` says why there was nothing to do."""

    json_keys = "table outcome plan instant note|null seconds error"

    outcome: Outcome
    plan: TakeoverPlan | None = None
    instant: Instant | None = None
    note: str = ""


def finished(run: Context, table: TableConfig, result: Takeover | IngestError, seconds: float) -> Takeover:
    """Return the final result of a table, of an error too."""
    run.progress(table.name, "idle")
    if isinstance(result, IngestError):
        result = Takeover(table.name, failure_of(result), error=result)
    return attrs.evolve(result, seconds=seconds)
