"""The run report that a job left: read as values, checked."""

import json
from pathlib import Path
from typing import Any, Literal

import attrs
import cattrs

Json = dict[str, Any]


class ReportError(ValueError):
    """A report that is not there, or is none."""


@attrs.frozen
class Applied:
    """How many rows a run changed."""

    upserted: int
    deleted: int


@attrs.frozen
class TableResult:
    """What a run did to one table."""

    table: str
    outcome: Literal["committed", "idle", "failed", "temporary"]
    instant: str | None
    read: int
    applied: Applied
    superseded: int
    rejected: int
    error: str | None

    def counts(self) -> Json:
        """Return what an asset's event tells its consumers."""
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
    """A run's report; `content` is all of it."""

    run_id: str
    outcome: Literal["done", "failed", "temporary"]
    tables: tuple[TableResult, ...]
    content: Json = attrs.field(factory=dict, repr=False, eq=False)


def read_report(path: Path) -> Report:
    """Read a report; raises ReportError."""
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
