"""Read and check the run report of a job."""

import json
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

Json = dict[str, Any]


class ReportError(ValueError):
    """A report that is missing or malformed."""


@attrs.frozen
class Applied:
    """Numbers of rows that a run changed."""

    upserted: int
    deleted: int


@attrs.frozen
class TableResult:
    """The result of a run for one table."""

    table: str
    outcome: Literal["committed", "idle", "failed", "temporary"]
    instant: str | None
    read: int
    applied: Applied
    superseded: int
    rejected: int
    error: str | None

    def counts(self) -> Json:
        """Return the counts for an asset's event."""
        return {
            "outcome": self.outcome,
            "instant": self.instant,
            "read": self.read,
            "upserted": self.applied.upserted,
            "deleted": self.applied.deleted,
            "superseded": self.superseded,
            "rejected": self.rejected,
        }


@attrs.frozen
class Report:
    """A run's report; `content` is the whole JSON."""

    run_id: str
    outcome: Literal["done", "failed", "temporary"]
    tables: tuple[TableResult, ...]
    content: Json = attrs.field(factory=dict, repr=False, eq=False)


def read_report(path: Path) -> Report:
    """Read a report.  Raises `ReportError`."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        report = cattrs.structure(content, Report)
    except FileNotFoundError:
        raise ReportError("it wrote no run report") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"its run report {path} cannot be read: {error}") from None
    except (ValueError, TypeError, cattrs.BaseValidationError):
        raise ReportError(f"{path} does not hold a run report") from None
    return attrs.evolve(report, content=content)
