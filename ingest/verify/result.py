"""The answer of a verification, as values and as JSON."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final, Literal, get_args

import attrs

from ingest.errors import RetryableError
from ingest.json_values import JsonValue
from ingest.report.result import TableResult, worst

Outcome = Literal["equal", "different", "in-flight", "failed", "temporary"]
Difference = Literal["missing", "extra", "doubled", "different"]
_WORST: Final[Sequence[Outcome]] = ("failed", "different", "temporary", "in-flight", "equal")


@attrs.frozen
class RowDifference(JsonValue):
    """One key that differs: the columns that differ, and on request their texts on both sides."""

    json_keys = "key difference columns"

    key: Mapping[str, str]
    difference: Difference
    columns: tuple[str, ...] = ()
    source: Mapping[str, str | None] | None = None
    table: Mapping[str, str | None] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON."""
        shown = {"source": self.source, "table": self.table}
        return super().to_json() | {name: dict(side) for name, side in shown.items() if side is not None}


@attrs.frozen
class TableVerification(TableResult):
    """The answer for one table, or for one topic of a table of several.

    `missing` rows are only in the source, `extra` rows only in the table, `doubled` rows several times in the
    table.  Rows `in_flight` still changed when they were looked at for the last time, or the connector had
    not delivered their changes.
    """

    json_keys = (
        "table outcome source|null mode position rows=tally columns compared uncompared keys=rows looks "
        "note|null repair deleted seconds error topic? topics?"
    )

    source: str = ""
    mode: str = "checksums"
    position: str | None = None
    source_rows: int = 0
    table_rows: int = 0
    counts: Mapping[Difference, int] = attrs.Factory(dict)
    in_flight: int = 0
    columns: Mapping[str, int] = attrs.Factory(dict)
    """Different values by column."""
    compared: tuple[str, ...] = ()
    uncompared: Mapping[str, str] = attrs.Factory(dict)
    rows: tuple[RowDifference, ...] = ()
    looks: int = 1
    note: str = ""
    repair: tuple[str, ...] = ()
    """Statements that ask the connector for the rows that differ."""
    deleted: int = 0
    topic: str = ""
    """The topic of the compared rows, if the table has several topics."""
    topics: "tuple[TableVerification, ...]" = attrs.field(default=(), kw_only=True)
    """The answers of the topics, if the table has several. The other fields then hold their sums."""

    @property
    def differing(self) -> int:
        """Keys that differ."""
        return sum(self.counts.values())

    @property
    def equal_rows(self) -> int | None:
        """Rows of the source that the table holds once and alike, or None if only numbers were compared."""
        if self.mode == "counts":
            return None
        unequal = sum(count for difference, count in self.counts.items() if difference != "extra")
        return max(0, self.source_rows - unequal - self.in_flight)

    @property
    def tally(self) -> dict[str, int | None]:
        """The numbers of rows: on both sides, equal ones, and by difference."""
        counts = {name: self.counts.get(name, 0) for name in get_args(Difference)}
        sides = {"source": self.source_rows, "table": self.table_rows, "equal": self.equal_rows}
        return {**sides, **counts, "in_flight": self.in_flight}

    @property
    def outcome(self) -> Outcome:
        """The verdict, or the worst verdict of several topics."""
        if self.topics:
            return min((topic.outcome for topic in self.topics), key=_WORST.index)
        if self.failure is not None:
            return self.failure
        if self.differing:
            return "different"
        if self.in_flight:
            return "in-flight"
        return "different" if self.mode == "counts" and self.source_rows != self.table_rows else "equal"

    @property
    def exit_code(self) -> int:
        """0 for equal, 1 for different or failed, 2 for wrong usage, 75 for undecided.

        A table of several topics has the worst of their codes.
        """
        if self.topics or self.error is not None:
            return super().exit_code
        return {"equal": 0, "different": 1}.get(self.outcome, RetryableError.exit_code)


@attrs.frozen
class Verification(JsonValue):
    """The answers for all tables."""

    started_at: datetime
    finished_at: datetime
    tables: tuple[TableVerification, ...]

    @property
    def exit_code(self) -> int:
        """The worst exit code of the tables."""
        return worst(self.tables)
